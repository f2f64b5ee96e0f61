// SPDX-License-Identifier: Apache-2.0
#include "emulate/client_run.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

#include <chrono>
#include <utility>

#include "base/descriptor.hpp"
#include "base/process_end.hpp"
#include "emulate/command.hpp"
#include "emulate/sockets.hpp"
#include "emulate/verdict.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::emulate {
namespace {

/// A descriptor that is readable when one of the two is.
Descriptor either_of(int first, int second) {
  Descriptor both(::epoll_create1(EPOLL_CLOEXEC));
  for (const int one : {first, second}) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    if (::epoll_ctl(both.get(), EPOLL_CTL_ADD, one, &event) != 0) return {};
  }
  return both;
}

bool is_readable(const Descriptor& descriptor) {
  pollfd one{descriptor.get(), POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

}  // namespace

Result<ClientRun> run_until_ended(Start client, const StopRequest& stop,
                                  const std::function<void(int)>& sleep) {
  const auto began = std::chrono::steady_clock::now();
  OwnedProcess process(std::move(client));
  if (!process.was_started()) {
    return Error{ErrorCode::io, "no process could be started for the client"};
  }
  // One descriptor: whatever a relay asks the kernel in a turn delays messages.
  const Descriptor either = either_of(process.descriptor(), stop.descriptor());
  if (!either.open()) return Error{ErrorCode::io, "the client cannot be watched: epoll failed"};
  while (!process.status()) {
    do {
      sleep(either.get());
    } while (!is_readable(either));
    if (stop.came()) return stopped();
  }
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - began;
  ClientRun ran;
  ran.status = *process.status();
  ran.seconds = all.count();
  return ran;
}

Result<EmulatedRun> run_client(const EmulationRequest& request, const std::string& advice,
                               const RunBoth& run_both) {
  if (request.command.empty()) {
    return Error{ErrorCode::invalid_argument,
                 "no client; write it behind --, as -- ./client {server}, or {socket}"};
  }
  const std::string& client = request.command.front();
  if (const auto found = startable(client); !found) {
    return Error{found.error().code,
                 fmt::format("{}; write the client behind --", found.error().message)};
  }
  const Capture capture(request.capture_stdout);
  const auto began = std::chrono::steady_clock::now();
  const auto ran = in_own_process<ClientRun>([&](const StopRequest& stop) {
    ::prctl(PR_SET_PDEATHSIG, 0);  // the request comes when weft is killed, too
    return run_both(capture.output(), stop);
  });
  if (StopSignals::number() != 0) return stopped();
  if (!ran) return ran.error();
  if (ran->status != 0) {
    return no_result("{} {}", client, describe_end(ran->status));
  }
  if (ran->bytes == 0) {
    return no_result("{}: the client sent the server nothing; {}", client, advice);
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
