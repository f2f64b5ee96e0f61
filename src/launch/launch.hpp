// SPDX-License-Identifier: Apache-2.0
// Launching a program's processes on this machine, and starting anew those that die: `weft run`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

struct LaunchOptions {
  std::uint32_t processes = 1;
  std::vector<std::string> command;  ///< the program and its arguments
  std::string fabric = "auto";
  std::string link;      ///< "RATE,LATENCY"; empty: not shaped
  bool restart = false;  ///< processes that are ended by a signal or with another code than 0
  std::uint32_t most_restarts = 1000;
  /// A process that is gone for longer fails what waits for it. With `restart`, when it cannot be
  /// restarted any more.
  Duration timeout = Duration::seconds(10);
  ByteCount inbox = ByteCount::mib(16);  ///< per process
  ByteCount outbox;                      ///< per process; zero: no limit
  std::string spill;                     ///< directory for what is beyond it; empty: none
  std::size_t eager = 0;                 ///< bytes; zero: the default
};

/// What became of a job.
struct LaunchOutcome {
  int code = 0;                ///< the first that was not 0; 128 + N for signal N
  std::uint32_t restarts = 0;  ///< of all processes together
};

/// Runs the job to its end. `say` gets a line for each death and each failure. Errors: a program
/// that cannot be started, no descriptors or processes left. SIGINT and SIGTERM end all processes.
/// One job at a time in a process.
Result<LaunchOutcome> launch(const LaunchOptions& options,
                             const std::function<void(const std::string&)>& say);

}  // namespace weft
