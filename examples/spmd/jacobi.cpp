// SPDX-License-Identifier: Apache-2.0
#include "jacobi.hpp"

#include <array>
#include <cstdio>

#include "common.hpp"

namespace weft::examples {
namespace {

using spmd::Box;
using spmd::Container;
using spmd::Flow;

/// The part of a box that is not at the space's edge.
Box without_edge(const Box& box, const spmd::Space& space) {
  Box inner = space.box();
  for (unsigned d = 0; d < space.dimensions(); ++d) {
    inner = inner.with(d, 1, space.extent(d) - 1);
  }
  return box.intersection(inner);
}

/// An array, and how it goes from being written to being read by neighbours and back.
struct Grid {
  Grid(const spmd::Group& group, const JacobiProblem& problem)
      : data(group, problem.space),
        to_reads((data.reserve({problem.writes, problem.reads}),
                  data.prepare(group.transition(problem.writes, problem.reads, Flow::preserve)))),
        to_writes(data.prepare(group.transition(problem.reads, problem.writes, Flow::none))) {
    require(data.switch_to(problem.writes, Flow::none));
    for (std::size_t k = 0; k < data.slices().size(); ++k) {
      data.view(k).for_each([&](spmd::Index at, double& value) { value = problem.start(at); });
    }
  }
  Container<double> data;
  spmd::ActionSequence to_reads;
  spmd::ActionSequence to_writes;
};

ExactSum squared_changes(const spmd::View<double>& before, const spmd::View<double>& after,
                         const Box& inner) {
  ExactSum sum;
  for (std::int64_t z = inner.from.z(); z < inner.to.z(); ++z) {
    for (std::int64_t y = inner.from.y(); y < inner.to.y(); ++y) {
      for (std::int64_t x = inner.from.x(); x < inner.to.x(); ++x) {
        const spmd::Index at(x, y, z);
        const double change = after[at] - before[at];
        sum.add(change * change);
      }
    }
  }
  return sum;
}

}  // namespace

SavedState saved_state(Arguments& arguments) {
  std::string directory = arguments.text("-c");
  return {.directory = std::move(directory), .every = arguments.option("-e", 1, 10)};
}

void solve(Process& process, const JacobiProblem& problem) {
  process.phase("set up");
  const spmd::Group group(process.world());
  std::array<Grid, 2> grids{Grid(group, problem), Grid(group, problem)};
  Shared<ExactSum> residuum(group);
  std::int64_t done = 0;
  double rest = 0;
  spmd::Checkpoint checkpoint(group);
  if (!problem.saved.directory.empty()) {
    for (Grid& grid : grids) checkpoint.add(grid.data);
    checkpoint.add(residuum.container());
    if (const auto step = require(checkpoint.resume(problem.saved.directory))) {
      done = static_cast<std::int64_t>(*step);
      rest = residuum.value().value();
    }
  }
  process.phase("iterate");
  while (done < problem.iterations) {
    Grid& from = grids[static_cast<std::size_t>(done % 2)];
    Grid& to = grids[static_cast<std::size_t>((done + 1) % 2)];
    require(from.to_reads.run());
    // The halo lies in the memory that the slice lies in.
    const spmd::View<double> read = from.data.memory();
    const spmd::View<double> write = to.data.memory();
    const Box inner = without_edge(write.box(), problem.space);
    if (!inner.is_empty()) problem.update(read, write, inner);
    process.compute(Duration::nanoseconds(inner.size()));
    ++done;
    if (done % 10 == 0) {
      const ExactSum own = squared_changes(read, write, inner);
      rest = residuum.reduce(own, ExactSum::reduction()).value();
    }
    require(from.to_writes.run());
    process.mark_progress();
    if (done % 10 == 0 && rest < 0.001) break;
    if (!problem.saved.directory.empty() && done % problem.saved.every == 0) {
      require(checkpoint.save(problem.saved.directory, static_cast<std::uint64_t>(done)));
    }
  }
  process.phase("sum up");
  const Outcome outcome = outcome_of(group, grids[static_cast<std::size_t>(done % 2)].data);
  char text[200];
  std::snprintf(text, sizeof(text), "%s: %lld iterations, residuum %.6g, sum %.9g, checksum %s",
                problem.name.c_str(), static_cast<long long>(done), rest, outcome.sum.value(),
                to_hex(outcome.checksum).c_str());
  print(process, text);
}

}  // namespace weft::examples
