// SPDX-License-Identifier: Apache-2.0
// spmv2 [-s K | -i K] ITERATIONS ROWS: power iteration with a triangular sparse matrix: all get the
// whole vector, each multiplies its rows, and the result is normalised.
// -s K: after K iterations the last process leaves; -i K: after every K iterations, until one is
// left. Its rows go to the others.
#include <cmath>
#include <cstdio>
#include <optional>

#include "common.hpp"
#include "programs.hpp"
#include "sparse.hpp"

namespace weft::examples {
namespace {

using spmd::Flow;

/// Everything that depends on the group: parts, rows of the matrix, sums.
struct Team {
  Team(const spmd::Group& of, const spmd::Space& space)
      : group(of),
        blocks(rows_by_elements(space, group.size())),
        everywhere(spmd::all(space, group.size())),
        own(blocks.bounds(group.rank())),
        matrix(own.from.x(), own.to.x()),
        norm(group) {}
  spmd::Group group;
  spmd::Partitioning blocks;
  spmd::Partitioning everywhere;
  spmd::Box own;
  TriangularRows matrix;
  Shared<ExactSum> norm;
};

void iterate(spmd::Container<double>& vector, Team& team) {
  require(vector.switch_to(team.everywhere));
  std::vector<double> product;
  ExactSum squares;
  for (std::int64_t row = team.own.from.x(); row < team.own.to.x(); ++row) {
    product.push_back(team.matrix.times(row, vector.values().data()));
    squares.add(product.back() * product.back());
  }
  const double length = std::sqrt(team.norm.reduce(squares, ExactSum::reduction()).value());
  require(vector.switch_to(team.blocks, Flow::none));
  if (product.empty()) return;
  const std::span<double> values = vector.values();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = product[i] / length;
}

}  // namespace

int spmv2(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "spmv2", [&] {
    Arguments arguments(given, "spmv2 [-s K | -i K] ITERATIONS ROWS");
    const std::int64_t shrink_once = arguments.option("-s", 1, 0);
    const std::int64_t shrink_again = arguments.option("-i", 1, 0);
    const std::int64_t iterations = arguments.number("ITERATIONS", 1);
    const std::int64_t rows = arguments.number("ROWS", 1);
    arguments.finish();
    process.phase("set up");
    const spmd::Space space(rows);
    std::optional<Team> team(std::in_place, spmd::Group(process.world()), space);
    spmd::Container<double> vector(team->group, space);
    vector.reserve({team->blocks, team->everywhere});
    require(vector.initialise(team->blocks, 1.0));
    process.phase("iterate");
    for (std::int64_t i = 1; i <= iterations; ++i) {
      iterate(vector, *team);
      process.compute(Duration::nanoseconds(team->own.size() * rows / 2));
      const bool shrinks = i == shrink_once || (shrink_again > 0 && i % shrink_again == 0);
      if (!shrinks || team->group.size() == 1) continue;
      process.phase("shrink");
      const Rank last(team->group.size() - 1);
      const spmd::Group smaller = team->group.without(std::span(&last, 1));
      require(vector.move_to(smaller, rows_by_elements(space, smaller.size())));
      if (!smaller.is_member()) return;
      team.emplace(smaller, space);
      require(vector.switch_to(team->blocks));
      vector.reserve({team->blocks, team->everywhere});
      process.phase("iterate");
    }
    process.phase("sum up");
    const Outcome outcome = outcome_of(team->group, vector);
    char text[100];
    std::snprintf(text, sizeof(text), "spmv2: sum %.12g, checksum ", outcome.sum.value());
    print(process, text + to_hex(outcome.checksum));
  });
}

}  // namespace weft::examples
