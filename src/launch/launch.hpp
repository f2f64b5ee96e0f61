// SPDX-License-Identifier: Apache-2.0
// Launching a program's processes, on this machine and on others, and starting anew those that die:
// `weft run`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/host_file.hpp"
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
  /// With `restart`: all processes whenever one ends so. They keep no messages for each other.
  bool restart_all = false;
  std::uint32_t most_restarts = 1000;
  /// When a process is gone for longer, operations that wait for it fail. With `restart`, when it
  /// cannot be restarted any more. None: 10 s, and for large jobs 100 ms for each process: all meet
  /// all when a job begins, and processes that share a core do so one after the other.
  std::optional<Duration> timeout;
  ByteCount inbox = ByteCount::mib(16);  ///< per process
  ByteCount outbox;                      ///< per process; zero: no limit
  bool outbox_fails = false;             ///< a send beyond it fails; else it waits
  std::string spill;                     ///< directory for messages beyond it; empty: none
  std::size_t eager = 0;                 ///< bytes; zero: the default
  std::uint32_t connections = 0;         ///< of TCP, per process at a time; zero: the default
  /// A host whose kernel answers nothing for so long is gone. Zero: `timeout` if that is
  /// said, at least a second, else 10 s.
  Duration peer_timeout;
  /// A connection over which nothing came for so long is proved alive, shorter than `peer_timeout`.
  /// Zero: the fabric's default.
  Duration heartbeat;
  std::string network;  ///< which of a machine's addresses to use: "10.1.0.0/16"; empty: the first

  /// A job's file (runtime/membership/job_file): `processes` of the ranks that are this machine's
  /// are started, in order. Empty: none. Not together with `hosts`; `fabric` is "auto" or "tcp".
  std::string file;

  /// Hosts of the processes, reached by ssh; each takes its slots before the next does. Empty: this
  /// machine.
  std::vector<HostSlots> hosts;
  std::vector<std::string> ssh = {"ssh", "-o", "BatchMode=yes"};
  std::string remote_weft;  ///< path of this command there; empty: as here
};

/// The outcome of a job.
struct LaunchOutcome {
  int code = 0;                ///< the first that was not 0; 128 + N for signal N
  std::uint32_t restarts = 0;  ///< of all processes together
};

/// Runs the job to its end. `say` gets a line for each death and each failure. Errors: no
/// descriptors or processes left, a host that cannot be reached, a wrong file. SIGINT, SIGTERM and
/// SIGHUP end all processes. One job at a time in a process.
Result<LaunchOutcome> launch(const LaunchOptions& options,
                             const std::function<void(const std::string&)>& say);

}  // namespace weft
