// SPDX-License-Identifier: Apache-2.0
// What real processes did in a window of time, from the iterations that they told of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "process/job_link.hpp"
#include "weft/time.hpp"

namespace weft::qos {

/// Real processes are not stopped at a window's end. What counts is from the last iteration that
/// ended before the window to the last one in it, by the process's own clock: a share of an
/// iteration is neither lost nor counted twice, so that short windows are as good as long ones.
struct MarkedWindow {
  /// Of an iteration: a controller counts in whole numbers.
  static constexpr double parts = 1000;

  std::vector<std::uint64_t> iterations;  ///< in `1 / parts`, as for the whole period; by process
  std::vector<double> waited;             ///< shares of the window, by process
};

/// `before` and `after`: what each process had told of at the window's two ends. A process that has
/// ended no iteration in it did nothing.
MarkedWindow window_of_marks(std::span<const JobProgress> before,
                             std::span<const JobProgress> after, Duration period);

}  // namespace weft::qos
