// SPDX-License-Identifier: Apache-2.0
#include "core/match/matcher.hpp"

#include "base/check.hpp"

namespace weft::match {
namespace {

/// A receive is in one queue only.
constexpr std::size_t receive_link = 0;

}  // namespace

std::uint32_t Matcher::take_place(const Envelope& envelope, Token token) {
  if (free_ == none) {
    WEFT_CHECK(nodes_.size() < none);
    nodes_.emplace_back();
    nodes_.back().links[0].next = none;
    free_ = static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  const std::uint32_t place = free_;
  Node& node = nodes_[place];
  free_ = node.links[0].next;
  node.envelope = envelope;
  node.token = token;
  return place;
}

void Matcher::free_place(std::uint32_t place) {
  Node& node = nodes_[place];
  ++node.life;
  node.is_waiting_receive = false;
  node.links[0].next = free_;
  free_ = place;
}

void Matcher::append(Ends& ends, std::uint32_t place, std::size_t link) {
  nodes_[place].links[link] = {.next = none, .previous = ends.last};
  (ends.last == none ? ends.first : nodes_[ends.last].links[link].next) = place;
  ends.last = place;
}

void Matcher::unlink(Ends& ends, std::uint32_t place, std::size_t link) {
  const Links links = nodes_[place].links[link];
  (links.previous == none ? ends.first : nodes_[links.previous].links[link].next) = links.next;
  (links.next == none ? ends.last : nodes_[links.next].links[link].previous) = links.previous;
}

void Matcher::remove_receive(std::uint32_t place, Queues& queues) {
  --receives_of_[kind_of(nodes_[place].envelope)];
  unlink(queues.receives, place, receive_link);
  queues_.drop_if_empty(queues);
  --receives_;
  free_place(place);
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

std::uint32_t Matcher::oldest_message(const Envelope& pattern) const {
  if (messages_ == 0) return none;
  const Queues* queues = queues_.find(pattern);
  return queues != nullptr ? queues->messages.first : none;
}

Posted Matcher::post(const Envelope& pattern, Token receive) {
  if (auto message = extract(pattern)) return {.message = message, .waiting = {}};
  const std::uint32_t place = take_place(pattern, receive);
  Node& node = nodes_[place];
  node.sequence = next_sequence_++;
  node.is_waiting_receive = true;
  append(queues_.find_or_make(pattern).receives, place, receive_link);
  ++receives_of_[kind_of(pattern)];
  ++receives_;
  return {.message = std::nullopt, .waiting = {place, node.life}};
}

std::optional<Token> Matcher::take_receive(const Envelope& envelope) {
  WEFT_CHECK(kind_of(envelope) == 0);
  // Of each kind of pattern the oldest; of these the oldest.
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
  if (oldest == none) return std::nullopt;
  const Token receive = nodes_[oldest].token;
  remove_receive(oldest, *its);
  return receive;
}

void Matcher::keep_message(const Envelope& envelope, Token message) {
  const std::uint32_t place = take_place(envelope, message);
  for (std::size_t kind = 0; kind < patterns; ++kind) {
    append(queues_.find_or_make(pattern_of(envelope, kind)).messages, place, kind);
  }
  ++messages_;
}

std::optional<Message> Matcher::probe(const Envelope& pattern) const {
  const std::uint32_t place = oldest_message(pattern);
  if (place == none) return std::nullopt;
  return Message{nodes_[place].envelope, nodes_[place].token};
}

std::optional<Message> Matcher::extract(const Envelope& pattern) {
  const std::uint32_t place = oldest_message(pattern);
  if (place == none) return std::nullopt;
  const Message message{nodes_[place].envelope, nodes_[place].token};
  remove_message(place);
  return message;
}

bool Matcher::cancel(WaitingReceive receive) {
  WEFT_CHECK(receive.place < nodes_.size());
  const Node& node = nodes_[receive.place];
  if (!node.is_waiting_receive || node.life != receive.life) return false;
  remove_receive(receive.place, *queues_.find(node.envelope));
  return true;
}

}  // namespace weft::match
