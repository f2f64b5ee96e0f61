// SPDX-License-Identifier: Apache-2.0
#include "process/job_options.hpp"

#include <algorithm>
#include <limits>

namespace weft {
namespace {

constexpr Duration shortest_peer_timeout = Duration::seconds(1);
constexpr Duration usual_peer_timeout = Duration::seconds(10);

bool is_bounded(const JobDescription& job) {
  return job.outbox != ByteCount{};
}

}  // namespace

Duration peer_timeout_of(Duration asked, Duration timeout) {
  if (asked == Duration{}) asked = timeout == Duration::max() ? usual_peer_timeout : timeout;
  return std::max(asked, shortest_peer_timeout);
}

message::MessageOptions message_options(const JobDescription& job) {
  message::MessageOptions options{.self = job.self,
                                  .nodes = job.nodes,
                                  .incarnation = job.incarnation,
                                  .inbox = job.inbox,
                                  .retain = job.retain,
                                  .run = job.run,
                                  .give_up_after = job.timeout};
  if (job.eager != 0) options.eager_limit = job.eager;
  return options;
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
