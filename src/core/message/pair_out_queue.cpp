// SPDX-License-Identifier: Apache-2.0
// PairOut: messages that wait for credit.
#include <utility>

#include "core/message/pair_out.hpp"

namespace weft::message {

/// A receiver that asks for each message, since it does not know which ones are older, hears by a
/// new one that comes by itself that it need not. That must not have to wait for credit: its
/// receiver asks for it no more.
bool PairOut::comes_by_itself(std::span<const std::byte> bytes) const {
  return up_ && !is_large(bytes) && spent_ + pushes_cost_ + cost_of_push(bytes) <= granted_;
}

void PairOut::queue_push(const Place& place) {
  Kept& kept = *place.flow->find(place.serial);
  const std::uint64_t cost = cost_of_push(kept.bytes);
  pushes_.push_back({place, cost});
  pushes_cost_ += cost;
  if (!std::exchange(kept.is_queued, true)) ++queued_;
}

bool PairOut::is_queued(const Name& message) {
  Flow* const flow = flows_.find_active(message.flow);
  const Kept* const kept = flow != nullptr ? flow->find(message.serial) : nullptr;
  return kept != nullptr && kept->is_queued;
}

/// Those that were asked for, behind one that has to wait.
void PairOut::drop_unneeded_pushes() {
  for (std::size_t left = pushes_.size(); left > 0; --left) {
    const Push push = pushes_.front();
    pushes_.pop_front();
    if (is_needed_push(push.place.flow->find(push.place.serial))) {
      pushes_.push_back(push);
    } else {
      pushes_cost_ -= push.cost;
    }
  }
}

}  // namespace weft::message
