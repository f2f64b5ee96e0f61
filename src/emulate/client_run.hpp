// SPDX-License-Identifier: Apache-2.0
// A run of a server and its client behind a link of sockets: the part that TCP and Unix sockets
// share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "emulate/own_process.hpp"
#include "emulate/run.hpp"
#include "emulate/server_process.hpp"
#include "weft/result.hpp"

namespace weft::emulate {

/// The result of a client that ran to its end.
struct ClientRun {
  int status = 0;  ///< of waitpid
  double seconds = 0;
  std::uint64_t packets = 0;  ///< both directions, likewise the bytes
  std::uint64_t bytes = 0;
};

/// Runs the client until it has ended, or `stop` came (error: cancelled). `sleep` returns when the
/// descriptor is readable, or at any time before.
Result<ClientRun> run_until_ended(Start client, const StopRequest& stop,
                                  const std::function<void(int)>& sleep);

/// Runs both, until the client has ended or `stop` came. The client writes to `output`.
using RunBoth = std::function<Result<ClientRun>(int output, const StopRequest& stop)>;

/// Calls `run_both` in a process of its own, which ends server and client in order also when weft
/// is told to end or dies, and judges its result. A client that cannot be started, that failed or
/// that sent nothing is an error; `advice` says how a client reaches the server. Error (cancelled):
/// weft was told to end.
Result<EmulatedRun> run_client(const EmulationRequest& request, const std::string& advice,
                               const RunBoth& run_both);

}  // namespace weft::emulate
