// SPDX-License-Identifier: Apache-2.0
// The real target of a sweep: runs of unmodified programs under emulation (emulate/run.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "emulate/sweep/sweep.hpp"

namespace weft::emulate {

/// The calibration of the layer that the question's program uses; none: it has none. Errors: the
/// command cannot be run; the calibration is damaged.
Result<std::optional<LayerCalibration>> calibration_in_use(const SweepQuestion& question);

/// Runs the question's command at a point. Its time is that of the slowest rank between MPI_Init
/// and MPI_Finalize; of a program that tells no such time, the command's. One thread.
SweepTarget emulated_target(const SweepQuestion& question);

/// A file that the program writes. Text that was there before the run is not a result.
class WrittenFile {
 public:
  /// Looks at the file before the run.
  explicit WrittenFile(std::string path);
  /// Errors (invalid_argument): the file is not there, or is as it was before.
  Result<std::string> text() const;

 private:
  struct State {
    std::int64_t modified_ns = -1;
    std::int64_t size = -1;
    friend bool operator==(const State&, const State&) = default;
  };
  static State state_of(const std::string& path);

  std::string path_;
  State before_;
};

/// The share of the processors' time that the hypervisor gave to others, between two texts of
/// /proc/stat; 0 where they do not tell.
double stolen_share(std::string_view before, std::string_view after);

/// Microseconds in which some process waited for a processor, from the text of /proc/pressure/cpu;
/// 0 where the system does not tell.
double waited_us(std::string_view pressure);

}  // namespace weft::emulate
