// SPDX-License-Identifier: Apache-2.0
#include "process/job_options.hpp"

#include <algorithm>
#include <limits>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "runtime/memory/machine_memory.hpp"

namespace weft {
namespace {

constexpr Duration usual_peer_timeout = Duration::seconds(10);

/// Where nothing else is said: of this machine, for what its processes keep.
constexpr std::uint64_t share_of_memory = 4;
constexpr double share_of_time = 0.1;

bool is_bounded(const JobDescription& job) {
  return job.outbox != ByteCount{};
}

}  // namespace

Duration peer_timeout_of(Duration asked, Duration timeout) {
  if (asked == Duration{}) asked = timeout == Duration::max() ? usual_peer_timeout : timeout;
  return std::max(asked, shortest_peer_timeout);
}

Result<void> check_heartbeat(std::string_view asked_by, Duration heartbeat, Duration peer_timeout,
                             std::string_view fabric) {
  // Their peers are heard, and not probed by a kernel: one beat may be late.
  const bool twice = fabric.starts_with("libfabric:");
  if (twice ? heartbeat * 2 <= peer_timeout : heartbeat < peer_timeout) return {};
  return invalid(
      "{}: {} is {} after which a silent machine is gone ({}, --peer-timeout); choose less",
      asked_by, to_text(heartbeat), twice ? "more than half of the time" : "no less than the time",
      to_text(peer_timeout));
}

message::MessageOptions message_options(const JobDescription& job) {
  // The share of the inbox of each node is the same with room for more nodes as without.
  const std::uint32_t nodes = std::max(job.nodes, job.room);
  const std::uint64_t share = job.inbox.value() / std::max(1u, job.nodes - 1);
  message::MessageOptions options{
      .self = job.self,
      .nodes = nodes,
      .incarnation = job.incarnation,
      .inbox = nodes == job.nodes ? job.inbox : ByteCount(share * (nodes - 1)),
      .retain = job.retain && !job.restarts_all,
      .fails_when_full = job.outbox_fails,
      .run = job.run,
      .give_up_after = job.timeout};
  if (job.eager != 0) options.eager_limit = job.eager;
  return options;
}

std::optional<KeepingWatch::Limits> keeping_limits(const JobDescription& job) {
  const bool may_stop = job.retain && !job.restarts_all && job.file.empty();
  if (!may_stop || job.outbox_fails) return std::nullopt;
  KeepingWatch::Limits limits{.memory = job.outbox, .share_of_time = {}};
  if (!job.spill.empty()) {
    limits.memory = KeepingWatch::unlimited;
  } else if (!is_bounded(job)) {
    limits.memory = ByteCount(memory_of_this_machine().value() / share_of_memory /
                              std::max(1u, job.nodes_here));
    // A later life repeats in a short time what took its earlier ones long.
    if (job.incarnation == Incarnation(1)) limits.share_of_time = share_of_time;
  }
  return limits;
}

Result<std::unique_ptr<SpillMemory>> open_spill(const JobDescription& job) {
  const ByteCount unlimited(std::numeric_limits<std::uint64_t>::max());
  return SpillMemory::open(is_bounded(job) ? job.outbox : unlimited, job.spill);
}

message::OutboxRoom outbox_room(const JobDescription& job, SpillMemory& spill) {
  message::OutboxRoom room{.memory = &spill};
  if (is_bounded(job) && job.spill.empty()) room.limit = job.outbox;
  return room;
}

}  // namespace weft
