// SPDX-License-Identifier: Apache-2.0
// How a process that runs ahead of its peers waits for them: behind blocking sends and collectives.
#include "mpi/object/transfer_lane.hpp"

namespace weft::mpi {

void Transfer::note_collective_send(const Group& group, std::uint32_t to) {
  const NodeId id = group.members[to];
  if (messenger_.machine().queued_to(id) <= most_queued) return;
  behind_many_.push_back({&group, id, last_sent_to(id)});
}

void Transfer::wait_for_way(const Group& group) {
  if (behind_many_.empty()) return;
  // Other threads may add and take theirs meanwhile.
  std::vector<BehindMany> own;
  std::erase_if(behind_many_, [&](const BehindMany& sent) {
    if (sent.group == &group) own.push_back(sent);
    return sent.group == &group;
  });
  for (const BehindMany& sent : own) make_way(sent.to, sent.message);
}

/// A short message that finds no room is copied, and its send is over. A process that only sends
/// would never hear that its peers have read something. A peer that computes takes its time; one
/// that is gone is noticed by those who wait for its messages. One that has exited is missed here:
/// nobody else may need it, and each send would wait in vain. A message that its receiver takes, or
/// has from an earlier life of this process, does not wait for those before it whose receives come
/// later.
void Transfer::wait_for_way(NodeId to, const message::Name& sent) {
  const message::MessageMachine& machine = messenger_.machine();
  const Wants wants(*this, {nullptr, to});
  while (!failure_ && machine.queued_to(to) > most_queued && machine.is_queued(to, sent)) {
    if (pause_ != nullptr) {
      turn_and_pause();
      continue;
    }
    if (take_what_is_done()) continue;
    auto good =
        messenger_.wait_for_queue(to, sent, most_queued, operations_, has_arrived_, long_wait);
    if (!good) failure_ = good.error();
    if (good && !*good && !messenger_.machine().is_up(to)) return;
  }
}

}  // namespace weft::mpi
