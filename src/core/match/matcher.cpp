// SPDX-License-Identifier: Apache-2.0
#include "core/match/matcher.hpp"

namespace weft::match {

void Matcher::grow() {
  WEFT_CHECK(nodes_.size() < none);
  nodes_.emplace_back();
  nodes_.back().links[0].next = none;
  free_ = static_cast<std::uint32_t>(nodes_.size() - 1);
}

void Matcher::remove_message(std::uint32_t place) {
  const Envelope envelope = nodes_[place].envelope;
  for (std::size_t kind = 0; kind < patterns; ++kind) {
    Queues& queues = *queues_.find(pattern_of(envelope, kind));
    unlink(queues.messages, place, kind);
    queues_.drop_if_empty(queues);
  }
  --messages_;
  free_place(place);
}

// Compares the oldest receive of each kind of pattern, and takes the oldest of these.
bool Matcher::take_oldest_receive(Envelope envelope, Token& receive) {
  std::uint32_t oldest = none;
  Queues* its = nullptr;
  for (std::size_t kind = 0; kind < patterns; ++kind) {
    if (receives_of_[kind] == 0) continue;
    Queues* const queues = queues_.find(pattern_of(envelope, kind));
    if (queues == nullptr || queues->receives.first == none) continue;
    const std::uint32_t place = queues->receives.first;
    if (oldest != none && nodes_[place].sequence >= nodes_[oldest].sequence) continue;
    oldest = place;
    its = queues;
  }
  if (oldest == none) return false;
  receive = nodes_[oldest].token;
  remove_receive(oldest, *its);
  return true;
}

void Matcher::keep_message(Envelope envelope, Token message) {
  const std::uint32_t place = take_place(envelope, message);
  for (std::size_t kind = 0; kind < patterns; ++kind) {
    append(queues_.find_or_make(pattern_of(envelope, kind)).messages, place, kind);
  }
  ++messages_;
}

std::optional<Message> Matcher::probe(Envelope pattern) const {
  const std::uint32_t place = oldest_message(pattern);
  if (place == none) return std::nullopt;
  return Message{nodes_[place].envelope, nodes_[place].token};
}

bool Matcher::cancel(WaitingReceive receive) {
  WEFT_CHECK(receive.place < nodes_.size());
  const Node& node = nodes_[receive.place];
  if (receive.sequence == 0 || node.sequence != receive.sequence) return false;
  remove_receive(receive.place, *queues_.find(node.envelope));
  return true;
}

}  // namespace weft::match
