// SPDX-License-Identifier: Apache-2.0
#include "launch/launched_job.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "launch/agent_protocol.hpp"
#include "launch/launcher_environment.hpp"
#include "launch/lease.hpp"
#include "process/job_file_watch.hpp"
#include "process/job_options.hpp"

namespace weft {

namespace {

constexpr Duration usual_timeout = Duration::seconds(10);
constexpr Duration for_each_process = Duration::milliseconds(100);
/// A host on which the launcher's own word arrives late is not yet a host that is gone.
constexpr Duration shortest_host_patience = Duration::seconds(10);

}  // namespace

Duration timeout_of(const LaunchOptions& options) {
  if (options.restart) return Duration::max();
  if (options.timeout) return *options.timeout;
  return std::max(usual_timeout, for_each_process * std::int64_t{options.processes});
}

Duration peer_timeout_of(const LaunchOptions& options) {
  return peer_timeout_of(options.peer_timeout, options.timeout.value_or(usual_timeout));
}

Result<void> check_peer_timeout(std::string_view asked_by, Duration asked) {
  if (asked >= shortest_peer_timeout) return {};
  return invalid("{}: {} is too short for an answer; use at least {}", asked_by, to_text(asked),
                 to_text(shortest_peer_timeout));
}

Result<void> check_heartbeat(std::string_view asked_by, const LaunchOptions& options) {
  return check_heartbeat(asked_by, options.heartbeat, peer_timeout_of(options), options.fabric);
}

JobDescription describe_job(const LaunchOptions& options, const JobSecret& secret) {
  return {.nodes = options.processes,
          .nodes_here = options.processes,
          .fabric = options.fabric,
          .link = options.link,
          .network = options.network,
          .job_id = secret.job_id,
          .secret = secret.secret,
          .retain = options.restart,
          .restarts_all = options.restart_all,
          // Lives of a file's ranks are not counted from 1.
          .run = options.file.empty() ? secret.job_id : std::string(),
          .peer_timeout = peer_timeout_of(options),
          .heartbeat = options.heartbeat,
          .timeout = timeout_of(options),
          .inbox = options.inbox,
          .outbox = options.outbox,
          .outbox_fails = options.outbox_fails,
          .spill = options.spill,
          .eager = options.eager,
          .connections = options.connections,
          .file = options.file,
          .most_restarts = options.most_restarts};
}

Result<FilePlaces> places_of_file(const LaunchOptions& options) {
  auto file = JobFileWatch::open(options.file, std::nullopt);
  if (!file) return std::move(file).error();
  auto secret = secret_of((*file)->file());
  if (!secret) return std::move(secret).error();
  const auto& here = (*file)->candidates();
  if (options.processes > here.size()) {
    return invalid(
        "-n: {} processes, but {} has {} addresses of this machine; add some or start fewer",
        options.processes, options.file, here.size());
  }
  return FilePlaces{.secret = std::move(secret).value(),
                    .ranks = static_cast<std::uint32_t>((*file)->file().ranks.size()),
                    .here = {here.begin(), here.end()}};
}

std::vector<RemoteOptions> remote_options(const LaunchOptions& options, const JobSecret& secret) {
  ProgramDescription program{.ranks = options.processes,
                             .command = options.command,
                             .directory = current_directory(),
                             .environment = environment_to_pass()};
  const Duration patience = std::max(peer_timeout_of(options) * 3, shortest_host_patience);
  // Without restarts, no process can live twice.
  if (options.restart) program.lease = lease_within(patience);
  std::vector<RemoteOptions> all;
  for (const HostSlots& slots : options.hosts) {
    program.guard = fmt::format("weft-agent-{}-{}", secret.job_id, slots.host);
    all.push_back({.host = slots.host,
                   .ssh = options.ssh,
                   .weft = options.remote_weft.empty() ? own_path() : options.remote_weft,
                   .program = to_text(program),
                   .patience = patience});
  }
  return all;
}

}  // namespace weft
