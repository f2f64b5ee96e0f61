// SPDX-License-Identifier: Apache-2.0
// The progress of real processes in a window of time, from the iterations that they reported.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "process/job_link.hpp"
#include "weft/time.hpp"

namespace weft::qos {

/// The progress of processes in a window. Real processes do not stop at a window's end. The time
/// from the last iteration that ended before the window to the last one in it counts, by the
/// process's own clock: a share of an iteration is neither lost nor counted twice, so that short
/// windows are as good as long ones.
struct MarkedWindow {
  /// An iteration counts as this many, since controllers count in whole numbers.
  static constexpr double parts = 1000;

  std::vector<std::uint64_t> iterations;  ///< in `1 / parts`, scaled to the period; by process
  std::vector<double> waited;             ///< share of the time that counts, 0 … 1; by process
};

/// Returns the progress between the last reports of each process at the window's two ends; `before`
/// and `after` have one for each process. A process that has ended no iteration in the window has
/// done nothing, and waited all the time.
MarkedWindow window_of_marks(std::span<const JobProgress> before,
                             std::span<const JobProgress> after, Duration period);

}  // namespace weft::qos
