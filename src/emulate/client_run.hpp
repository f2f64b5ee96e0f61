// SPDX-License-Identifier: Apache-2.0
// A run of a server and its client behind a link of sockets: the part that TCP and Unix sockets
// share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "emulate/run.hpp"
#include "weft/result.hpp"

namespace weft::emulate {

/// The result of a client that ran to its end.
struct ClientRun {
  int status = 0;  ///< of waitpid
  double seconds = 0;
  std::uint64_t packets = 0;  ///< both directions, likewise the bytes
  std::uint64_t bytes = 0;
};

/// Calls `run_both` in a process of its own, with the descriptor that the client writes its output
/// to, and judges its result. A client that cannot be started, that failed or that sent nothing
/// is an error; `advice` says how a client reaches the server.
Result<EmulatedRun> run_client(const EmulationRequest& request, const std::string& advice,
                               const std::function<Result<ClientRun>(int output)>& run_both);

}  // namespace weft::emulate
