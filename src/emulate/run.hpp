// SPDX-License-Identifier: Apache-2.0
// One emulated run: an unmodified program behind slower links. `weft emulate` is this call; a sweep
// makes many of them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "emulate/control/control_block.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::emulate {

/// The limits of what an emulation is asked for, in whichever form: a slower rate or a longer
/// latency is a mistake, and a rate that rounds to 0 would be no limit at all.
inline constexpr Duration kLongestLatency = Duration::seconds(10);
inline constexpr double kSlowestRate = 1e3;   ///< bytes/s
inline constexpr double kFastestRate = 1e12;  ///< bytes/s

/// "+2us" on top of the native latency, "=5us" in all; "0" is native. Nanoseconds, ≥ 0, ≤ 10 s.
struct LatencyAsked {
  bool in_all = false;
  Duration value{};
};
/// "50%" of the calibrated bandwidth, or "100MB/s"; neither set is native.
struct BandwidthAsked {
  std::optional<double> fraction;  ///< in (0, 1]; 1 is native
  std::optional<Bandwidth> rate;
};

/// Errors name `option`, the text, and a form that works.
Result<LatencyAsked> parse_latency(std::string_view option, std::string_view text);
Result<BandwidthAsked> parse_emulated_bandwidth(std::string_view option, std::string_view text);

struct EmulationRequest {
  std::vector<std::string> command;  ///< as a shell would start it: mpirun and its words
  LatencyAsked latency;
  BandwidthAsked bandwidth;
  std::string links;  ///< a file of links and paths between ranks; empty: each rank has its own
  /// A shell command: programs that use sockets. It runs on one host, `command` on another, behind
  /// one link; in both {server} and {client} become addresses. With {socket}, both stay on this
  /// host, and it becomes the path of a Unix socket. Empty: an MPI program.
  std::string server;
  Method method = Method::hold;
  /// Bandwidth by bytes without meaning ahead of the program's own, as in paper 3: for comparison.
  bool padding = false;
  bool use_ucx = false;           ///< Open MPI: in place of its default, by its own variables
  bool subtract_overhead = true;  ///< the cost of holding itself, as calibrated
  bool capture_stdout = false;    ///< into EmulatedRun::stdout_text, instead of ours
};

/// A knob's native and requested value; native is empty where nothing was calibrated.
template <class T>
struct NativeAndAsked {
  std::optional<T> native;
  std::optional<T> asked;  ///< empty: native
};

struct EmulatedRun {
  int exit_code = 0;
  std::string interposer;  ///< "ucx", "libfabric", "verbs", "sockets"
  unsigned ranks = 0;
  unsigned ranks_interposed = 0;
  /// Between MPI_Init and MPI_Finalize, of all ranks; of sockets: IP packets, both ways.
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t padding_bytes = 0;               ///< beside them, where the request has padding
  NativeAndAsked<double> latency_ns;             ///< one way, 8 bytes
  NativeAndAsked<double> bandwidth_bytes_per_s;  ///< messages of 1 MiB
  Duration wall_time{};                          ///< of the command, launcher included
  /// Longest of a rank, from MPI_Init's end to MPI_Finalize's begin; of sockets: the client's.
  Duration program_time{};
  Duration coarse{};  ///< the error of a latency, where it is more than a few nanoseconds
  std::string stdout_text;
  bool stdout_is_cut = false;         ///< the program printed more than is kept
  std::vector<std::string> warnings;  ///< one line each: more ranks than cores, …
};

/// The requested bandwidth on a calibrated layer, bytes/s; 0: native. Error (not_found): a
/// percentage of a layer that was not calibrated; a percentage that is out of the limits
/// (invalid_argument).
Result<double> asked_rate(const EmulationRequest& request, const std::string& layer);

/// Runs the command and waits for it. Errors (no result then): a launcher that is unknown, a static
/// or setuid program, a file of links that is wrong, no calibration where one is needed
/// (invalid_argument, not_found); the program ended with another code than 0, a rank died, nothing
/// or not every rank was interposed, nothing was communicated (unavailable); the system refused
/// (io). With a server: it, or the client, ended badly; the server does not listen; nothing passed
/// between them (unavailable). One run at a time and thread.
Result<EmulatedRun> run(const EmulationRequest& request);

}  // namespace weft::emulate
