// SPDX-License-Identifier: Apache-2.0
#include "emulate/client_run.hpp"

#include <fmt/format.h>

#include <chrono>

#include "base/mpi_launcher.hpp"
#include "emulate/own_process.hpp"
#include "emulate/server_process.hpp"
#include "emulate/sockets.hpp"
#include "emulate/verdict.hpp"

namespace weft::emulate {

Result<EmulatedRun> run_client(const EmulationRequest& request, const std::string& advice,
                               const std::function<Result<ClientRun>(int output)>& run_both) {
  if (request.command.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "no client; write it behind --, as -- ./client {server}, or {socket}"};
  }
  const std::string& client = request.command.front();
  if (find_program(client).empty()) {
    return Error{
        ErrorCode::not_found,
        fmt::format("{}: is no program that can be started; write the client behind --", client)};
  }
  const Capture capture(request.capture_stdout);
  const auto began = std::chrono::steady_clock::now();
  const auto ran = in_own_process<ClientRun>([&] { return run_both(capture.output()); });
  if (!ran) return ran.error();
  if (ran->status != 0) {
    return no_result(fmt::format("{} {}", client, how_it_ended(ran->status)));
  }
  if (ran->bytes == 0) {
    return no_result(fmt::format("{}: the client sent the server nothing; {}", client, advice));
  }
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - began;
  EmulatedRun run;
  run.interposer = kSocketsLayer;
  run.ranks = 2;
  run.ranks_interposed = 2;
  run.operations = ran->packets;
  run.bytes = ran->bytes;
  run.coarse = kSocketsError;
  run.program_time = Duration::from_seconds(ran->seconds);
  run.wall_time = Duration::from_seconds(all.count());
  run.stdout_text = capture.text();
  return run;
}

}  // namespace weft::emulate
