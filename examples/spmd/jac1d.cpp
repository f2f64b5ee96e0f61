// SPDX-License-Identifier: Apache-2.0
// jac1d [-c DIR [-e EVERY]] KILO [ITERATIONS]: each of KILO·1000 elements becomes the mean of its
// two neighbours; the ends stay −5 and 10. Eight bytes to each neighbour in each iteration.
#include "common.hpp"
#include "jacobi.hpp"
#include "programs.hpp"

namespace weft::examples {

int jac1d(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "jac1d", [&] {
    Arguments arguments(given, "jac1d [-c DIR [-e EVERY]] KILO [ITERATIONS]");
    SavedState saved = saved_state(arguments);
    const std::int64_t size = 1000 * arguments.number("KILO", 1);
    const std::int64_t iterations = arguments.number("ITERATIONS", 1, 50);
    arguments.finish();
    const spmd::Space space(size);
    const spmd::Partitioning blocks = spmd::block(space, process.world().size());
    solve(process, {.name = "jac1d",
                    .space = space,
                    .writes = blocks,
                    .reads = spmd::corner_halo(blocks),
                    .iterations = iterations,
                    .saved = std::move(saved),
                    .start =
                        [size](spmd::Index at) {
                          if (at.x() == 0) return -5.0;
                          return at.x() == size - 1 ? 10.0 : static_cast<double>(at.x() & 6);
                        },
                    .update =
                        [](const spmd::View<double>& read, const spmd::View<double>& write,
                           const spmd::Box& inner) {
                          const double* const from = &read[inner.from];
                          double* const to = &write[inner.from];
                          for (std::int64_t i = 0; i < inner.size(); ++i) {
                            to[i] = 0.5 * (from[i - 1] + from[i + 1]);
                          }
                        }});
  });
}

}  // namespace weft::examples
