// SPDX-License-Identifier: Apache-2.0
// spmv ROWS: a triangular sparse matrix times a vector that all have, rows divided by their number
// of elements. Twice: the result goes to rank 0 as blocks, and as a sum of all ranks' parts.
#include <cstdio>

#include "common.hpp"
#include "programs.hpp"
#include "sparse.hpp"

namespace weft::examples {

int spmv(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "spmv", [&] {
    Arguments arguments(given, "spmv ROWS");
    const std::int64_t rows = arguments.number("ROWS", 1);
    arguments.finish();
    process.phase("set up");
    const spmd::Group group(process.world());
    const spmd::Space space(rows);
    const spmd::Partitioning blocks = rows_by_elements(space, group.size());
    const spmd::Partitioning everywhere = spmd::all(space, group.size());
    const spmd::Partitioning gathered = spmd::master(space, group.size());
    const spmd::Box own = blocks.bounds(group.rank());
    const TriangularRows matrix(own.from.x(), own.to.x());

    spmd::Container<double> vector(group, space);
    require(vector.switch_to(everywhere, spmd::Flow::none));
    vector.view().for_each(
        [](spmd::Index at, double& value) { value = static_cast<double>(at.x() % 9 + 1); });
    const auto multiply = [&](const spmd::View<double>& result) {
      process.phase("multiply");
      for (std::int64_t row = own.from.x(); row < own.to.x(); ++row) {
        result[row] = matrix.times(row, vector.values().data());
      }
      process.compute(Duration::nanoseconds(own.size() * rows / 2));
    };

    spmd::Container<double> result(group, space);
    require(result.switch_to(blocks, spmd::Flow::none));
    multiply(result.memory());
    process.phase("gather blocks");
    require(result.switch_to(gathered));
    const Outcome of_blocks = outcome_of(group, result);

    process.phase("set up");
    require(result.initialise(everywhere, 0));
    multiply(result.memory());
    process.phase("sum up");
    require(result.reduce(gathered, spmd::Reduction<double>::sum()));
    const Outcome of_sums = outcome_of(group, result);
    if (of_blocks.checksum != of_sums.checksum) {
      throw Failure("blocks and sums came out different");
    }
    char text[100];
    std::snprintf(text, sizeof(text), "spmv: sum %.12g, checksum ", of_sums.sum.value());
    print(process, text + to_hex(of_sums.checksum));
  });
}

}  // namespace weft::examples
