// SPDX-License-Identifier: Apache-2.0
// The progress of real processes in a window of time, from the iterations that they reported.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "process/job_link.hpp"
#include "weft/time.hpp"

namespace weft::qos {

/// Real processes are not stopped at a window's end. The time from the last iteration that ended
/// before the window to the last one in it counts, by the process's own clock: a share of an
/// iteration is neither lost nor counted twice, so that short windows are as good as long ones.
struct MarkedWindow {
  /// Parts of an iteration: controllers count in whole numbers.
  static constexpr double parts = 1000;

  std::vector<std::uint64_t> iterations;  ///< in `1 / parts`, as for the whole period; by process
  std::vector<double> waited;             ///< shares of the window, by process
};

/// `before` and `after`: the last report of each process at the window's two ends. A process that
/// has ended no iteration in it did nothing.
MarkedWindow window_of_marks(std::span<const JobProgress> before,
                             std::span<const JobProgress> after, Duration period);

}  // namespace weft::qos
