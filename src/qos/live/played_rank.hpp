// SPDX-License-Identifier: Apache-2.0
// Plays a rank of a workload in a real process: the same program that simulated ranks run, with
// messages over the process's fabric.
#pragma once

#include <cstdint>
#include <functional>

#include "sim/workload/program.hpp"
#include "weft/program.hpp"
#include "weft/result.hpp"

namespace weft::qos {

struct PlayOptions {
  double compute_noise = 0;  ///< each computation takes up to such a share more or less; in [0, 1)
  std::uint64_t seed = 1;
  /// Lets time of a computation pass.
  std::function<void(Duration)> compute;
};

/// To the program's end; patterns have none. Messages between two ranks are received in the order
/// in which they are sent. Errors: those of a wait; a message of another size than its receive;
/// an action that patterns do not have (wait_any).
Result<void> play(Process& process, const sim::Program& program, const PlayOptions& options);

/// Sleeps for as long: a machine with fewer cores than processes computes as if each had its own.
void sleep_for(Duration time);

}  // namespace weft::qos
