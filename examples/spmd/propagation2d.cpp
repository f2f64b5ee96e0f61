// SPDX-License-Identifier: Apache-2.0
// propagation2d SIDE [ITERATIONS]: each process has SIDE × SIDE elements of a mesh, as in LULESH:
// elements add to the nodes at their corners, nodes that several processes have are summed up over
// these, and each element takes the mean of its nodes. Mostly eight bytes at a time.
//
// More processes make a larger mesh. It is closed in both directions and starts with the same
// pattern in each process's part, so that every part goes the same way as a mesh of one process
// does: the checksum is that of one part, and all must agree on it.
#include <cstdio>

#include "common.hpp"
#include "programs.hpp"

namespace weft::examples {
namespace {

using spmd::Box;
using Value = std::int64_t;  // sums do not depend on the order

struct Mesh {
  Mesh(std::int64_t side_of_part, std::uint32_t ranks)
      : side(side_of_part),
        parts(spmd::grid_parts(spmd::Space(ranks, ranks), ranks)),
        elements(side * parts[0], side * parts[1]),
        element_parts(spmd::grid(elements, parts)),
        node_parts(elements, ranks, [&](Rank rank) { return nodes_of(rank); }) {}

  /// Nodes are numbered as the elements right and above them. A part's own ones in mapping 0; those
  /// at its far edges, which may be at the mesh's beginning, in mappings of their own.
  std::vector<spmd::Slice> nodes_of(Rank rank) const {
    const Box own = element_parts.bounds(rank);
    const std::int64_t right = own.to.x() % elements.extent(0);
    const std::int64_t above = own.to.y() % elements.extent(1);
    std::vector<spmd::Slice> slices{{own, 0}};
    if (parts[0] > 1) slices.push_back({own.with(0, right, right + 1), 1});
    if (parts[1] > 1) slices.push_back({own.with(1, above, above + 1), 2});
    if (parts[0] > 1 && parts[1] > 1) {
      slices.push_back({own.with(0, right, right + 1).with(1, above, above + 1), 3});
    }
    return slices;
  }

  std::int64_t side;
  std::array<std::uint32_t, spmd::max_dimensions> parts;
  spmd::Space elements;
  spmd::Partitioning element_parts;
  spmd::Partitioning node_parts;
};

/// The nodes at the corners of this process's elements, by local coordinates from 0 to side.
class Corners {
 public:
  Corners(const spmd::Container<Value>& nodes, const Mesh& mesh) : side_(mesh.side) {
    const bool divided_x = mesh.parts[0] > 1;
    const bool divided_y = mesh.parts[1] > 1;
    own_ = nodes.memory(0);
    right_ = divided_x ? nodes.memory(1) : own_;
    above_ = divided_y ? nodes.memory(2) : own_;
    far_ = divided_x && divided_y ? nodes.memory(3) : divided_x ? right_ : above_;
  }
  Value& at(std::int64_t x, std::int64_t y) const {
    if (x < side_ && y < side_) return own_(x, y);
    if (x == side_ && y == side_) return far_(0, 0);
    return x == side_ ? right_(0, y) : above_(x, 0);
  }

 private:
  std::int64_t side_;
  spmd::View<Value> own_;
  spmd::View<Value> right_;
  spmd::View<Value> above_;
  spmd::View<Value> far_;
};

void scatter(const spmd::View<Value>& elements, const Corners& nodes, std::int64_t side) {
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      const Value quarter = elements(x, y) / 4;
      nodes.at(x, y) += quarter;
      nodes.at(x + 1, y) += quarter;
      nodes.at(x, y + 1) += quarter;
      nodes.at(x + 1, y + 1) += quarter;
    }
  }
}

void gather(const spmd::View<Value>& elements, const Corners& nodes, std::int64_t side) {
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x) {
      elements(x, y) =
          (nodes.at(x, y) + nodes.at(x + 1, y) + nodes.at(x, y + 1) + nodes.at(x + 1, y + 1)) / 4;
    }
  }
}

}  // namespace

int propagation2d(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "propagation2d", [&] {
    Arguments arguments(given, "propagation2d SIDE [ITERATIONS]");
    const std::int64_t side = arguments.number("SIDE", 1);
    const std::int64_t iterations = arguments.number("ITERATIONS", 1, 40);
    arguments.finish();
    process.phase("set up");
    const spmd::Group group(process.world());
    const Mesh mesh(side, group.size());
    spmd::Container<Value> elements(group, mesh.elements);
    require(elements.switch_to(mesh.element_parts, spmd::Flow::none));
    elements.view().for_each([&](spmd::Index at, Value& value) {
      value = (1 + (at.x() % side * 7 + at.y() % side * 13) % 101) * 1'000'000'000;
    });
    spmd::Container<Value> nodes(group, mesh.elements);
    nodes.reserve({mesh.node_parts});
    require(nodes.initialise(mesh.node_parts, 0));
    auto sum = nodes.prepare(group.transition(mesh.node_parts, mesh.node_parts, spmd::Flow::reduce),
                             spmd::Reduction<Value>::sum());
    const Corners corners(nodes, mesh);
    process.phase("iterate");
    for (std::int64_t i = 0; i < iterations; ++i) {
      if (i > 0) require(nodes.initialise(mesh.node_parts, 0));
      scatter(elements.view(), corners, side);
      require(sum.run());
      gather(elements.view(), corners, side);
      process.compute(Duration::nanoseconds(8 * side * side));
    }
    process.phase("sum up");
    Value total = 0;
    std::uint64_t checksum = 0;
    elements.view().for_each([&](spmd::Index at, Value value) {
      total += value / 1'000'000;
      checksum += element_hash(spmd::Index(at.x() % side, at.y() % side),
                               static_cast<std::uint64_t>(value));
    });
    Shared<std::uint64_t> agreed(group);
    if (agreed.reduce(checksum, spmd::Reduction<std::uint64_t>::min()) !=
        agreed.reduce(checksum, spmd::Reduction<std::uint64_t>::max())) {
      throw Failure("parts that began alike came out different");
    }
    char text[100];
    std::snprintf(text, sizeof(text), "propagation2d: mean %.9g, checksum ",
                  static_cast<double>(total) / 1000 / static_cast<double>(side * side));
    print(process, text + to_hex(checksum));
  });
}

}  // namespace weft::examples
