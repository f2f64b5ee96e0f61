// SPDX-License-Identifier: Apache-2.0
// Running one command in hosts of a testbed, with faults, for `weft testbed run`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "faults/fault.hpp"
#include "testbed/testbed.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::testbed {

struct RunOptions {
  /// Program and arguments. In each argument {host} (the number, also {rank}: counted among the
  /// hosts of this run), {hosts}, {address}, {addresses} and {addresses[N]} are replaced. The same
  /// is in the environment: WEFT_TESTBED_HOST, _RANK, _HOSTS, _ADDRESS, _ADDRESSES.
  std::vector<std::string> command;
  std::vector<std::uint32_t> hosts;  ///< where it runs; empty: everywhere
  std::vector<faults::Fault> faults;
  Duration time_limit = Duration::seconds(3600);  ///< then the processes are ended
  bool prefix = true;                             ///< each line of output begins with its host
  int output = 1;                                 ///< the processes' standard output goes here
  int errors = 2;  ///< their standard error and the log of faults go here
};

struct RunResult {
  /// The first exit code other than 0, or 128 + the signal; processes that a fault ended do not
  /// count. 127: the program cannot be run, as one line to `RunOptions::errors` explains.
  int exit_code = 0;
  bool interrupted = false;  ///< by SIGINT or SIGTERM to this process
  int signal = 0;            ///< the first of them
  bool timed_out = false;
  std::size_t failed_faults = 0;  ///< that could not be carried out
};

/// Runs the command in each host and returns when all processes have ended. Blocks SIGINT and
/// SIGTERM in the caller meanwhile and passes them on: first SIGTERM, two seconds later SIGKILL.
/// Each process has a process group of its own, which faults stop and kill. Contains the caller's
/// children in the testbed, so that nothing survives it (Testbed::contain_children).
Result<RunResult> run_in_hosts(Testbed& testbed, const RunOptions& options);

/// The argument with its placeholders replaced; other braces stay as they are.
std::string replace_placeholders(std::string_view argument, std::uint32_t host, std::uint32_t rank,
                                 std::span<const std::string> addresses);

}  // namespace weft::testbed
