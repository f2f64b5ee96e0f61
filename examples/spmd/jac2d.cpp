// SPDX-License-Identifier: Apache-2.0
// jac2d [-c DIR [-e EVERY]] SIDE [ITERATIONS]: each element of a square becomes the mean of its
// four neighbours; the edges stay −5, 10, −10 and 5. Parts by bisection.
#include "common.hpp"
#include "jacobi.hpp"
#include "programs.hpp"

namespace weft::examples {
namespace {

void update(const spmd::View<double>& read, const spmd::View<double>& write,
            const spmd::Box& inner) {
  const std::ptrdiff_t up = read.stride(1);
  for (std::int64_t y = inner.from.y(); y < inner.to.y(); ++y) {
    const double* const from = &read[{inner.from.x(), y}];
    double* const to = &write[{inner.from.x(), y}];
    for (std::int64_t x = 0; x < inner.extent(0); ++x) {
      to[x] = 0.25 * (from[x - 1] + from[x + 1] + from[x - up] + from[x + up]);
    }
  }
}

double start(spmd::Index at, std::int64_t side) {
  if (at.y() == 0) return -5;
  if (at.y() == side - 1) return 10;
  if (at.x() == 0) return -10;
  return at.x() == side - 1 ? 5 : static_cast<double>((at.x() + at.y()) & 6);
}

}  // namespace

int jac2d(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "jac2d", [&] {
    Arguments arguments(given, "jac2d [-c DIR [-e EVERY]] SIDE [ITERATIONS]");
    SavedState saved = saved_state(arguments);
    const std::int64_t side = arguments.number("SIDE", 1);
    const std::int64_t iterations = arguments.number("ITERATIONS", 1, 50);
    arguments.finish();
    const spmd::Space space(side, side);
    const spmd::Partitioning parts = spmd::bisection(space, process.world().size());
    solve(process, {.name = "jac2d",
                    .space = space,
                    .writes = parts,
                    .reads = spmd::corner_halo(parts),
                    .iterations = iterations,
                    .saved = std::move(saved),
                    .start = [side](spmd::Index at) { return start(at, side); },
                    .update = update});
  });
}

}  // namespace weft::examples
