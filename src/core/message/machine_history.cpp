// SPDX-License-Identifier: Apache-2.0
// What a process stores of its messages, with which its later life goes on, and the end of their
// being kept.
#include <algorithm>
#include <utility>

#include "core/message/machine.hpp"

namespace weft::message {

Result<std::vector<std::byte>> MessageMachine::store() {
  const Peer& self = peers_[options_.self.value()];
  if (operations_.pending() > 0 || (self.pair != nullptr && self.pair->in.holds_any())) {
    return Error{ErrorCode::invalid_argument,
                 "a process cannot be stored while it sends or receives; wait for it before"};
  }
  History history{.run = options_.run, .self = options_.self, .nodes = options_.nodes, .pairs = {}};
  stored_.clear();
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i].pair == nullptr) continue;
    StoredPair& stored = history.pairs.emplace_back();
    stored.peer = NodeId(i);
    peers_[i].pair->out.store(stored);
    peers_[i].pair->in.store(stored);
    stored_.emplace_back(NodeId(i), stored.receives);
  }
  return encode(history);
}

bool MessageMachine::is_ours(const History& history) const {
  return history.run == options_.run && history.self == options_.self &&
         history.nodes == options_.nodes;
}

bool MessageMachine::knows(std::span<const std::byte> stored) const {
  const auto history = decode_history(stored);
  return history.ok() && is_ours(*history);
}

bool MessageMachine::has_begun() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return peer.pair != nullptr && (peer.pair->out.has_begun() || peer.pair->in.has_begun());
  });
}

std::uint64_t MessageMachine::place() const {
  std::uint64_t sum = 0;
  for (const Peer& peer : peers_) {
    if (peer.pair != nullptr) sum += peer.pair->out.started() + peer.pair->in.started();
  }
  return sum;
}

Result<void> MessageMachine::resume(std::span<const std::byte> stored) {
  const auto history = decode_history(stored);
  if (!history) return history.error();
  if (!is_ours(*history)) {
    return Error{ErrorCode::not_found, "it is of another run of the job"};
  }
  if (operations_.pending() > 0) {
    return Error{ErrorCode::invalid_argument,
                 "the process sends or receives; it goes on from where it was stored before that"};
  }
  for (const StoredPair& from : history->pairs) {
    Pair& to = pair(from.peer);
    if (auto good = to.out.resume(from); !good) return good;
    to.in.resume(from);
    to.went_on = true;
    // If it has not said hello yet, that says so.
    to.owes_pull = peers_[from.peer.value()].up && !to.owes_hello && !to.pulls;
    to.pulls = true;
    touch(from.peer);
  }
  return {};
}

void MessageMachine::commit() {
  for (const auto& [peer, receives] : std::exchange(stored_, {})) {
    if (peer == options_.self) continue;
    pair(peer).in.forget(receives);
    touch(peer);
  }
}

void MessageMachine::stop_keeping(const std::function<Incarnation(NodeId)>& newest_life) {
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    Peer& peer = peers_[i];
    peer.newest = newest_life(NodeId(i));
    if (peer.pair == nullptr) continue;
    peer.pair->out.stop_keeping(peer.newest > Incarnation(1), peer.incarnation >= peer.newest);
  }
  options_.retain = false;
  if (waits_for_room()) use_room();
  sent_bodies_.trim();
}

}  // namespace weft::message
