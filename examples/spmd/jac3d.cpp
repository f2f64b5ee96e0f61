// SPDX-License-Identifier: Apache-2.0
// jac3d [-c DIR [-e EVERY]] [-g] SIDE [ITERATIONS]: each element of a cube becomes the mean of its
// six neighbours; the faces stay as they are. Parts by bisection, with -g in a regular grid.
#include "common.hpp"
#include "jacobi.hpp"
#include "programs.hpp"

namespace weft::examples {
namespace {

void update(const spmd::View<double>& read, const spmd::View<double>& write,
            const spmd::Box& inner) {
  const std::ptrdiff_t up = read.stride(1);
  const std::ptrdiff_t back = read.stride(2);
  for (std::int64_t z = inner.from.z(); z < inner.to.z(); ++z) {
    for (std::int64_t y = inner.from.y(); y < inner.to.y(); ++y) {
      const double* const from = &read[{inner.from.x(), y, z}];
      double* const to = &write[{inner.from.x(), y, z}];
      for (std::int64_t x = 0; x < inner.extent(0); ++x) {
        to[x] = (1.0 / 6) * (from[x - 1] + from[x + 1] + from[x - up] + from[x + up] +
                             from[x - back] + from[x + back]);
      }
    }
  }
}

double start(spmd::Index at, std::int64_t side) {
  if (at.z() == 0) return -5;
  if (at.z() == side - 1) return 10;
  if (at.y() == 0) return -10;
  if (at.y() == side - 1) return 5;
  if (at.x() == 0) return -1;
  return at.x() == side - 1 ? 1 : static_cast<double>((at.x() + at.y() + at.z()) & 6);
}

}  // namespace

int jac3d(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "jac3d", [&] {
    Arguments arguments(given, "jac3d [-c DIR [-e EVERY]] [-g] SIDE [ITERATIONS]");
    SavedState saved = saved_state(arguments);
    const bool in_grid = arguments.option("-g");
    const std::int64_t side = arguments.number("SIDE", 1);
    const std::int64_t iterations = arguments.number("ITERATIONS", 1, 50);
    arguments.finish();
    const spmd::Space space(side, side, side);
    const std::uint32_t ranks = process.world().size();
    const spmd::Partitioning parts =
        in_grid ? spmd::grid(space, spmd::grid_parts(space, ranks)) : spmd::bisection(space, ranks);
    solve(process, {.name = "jac3d",
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
