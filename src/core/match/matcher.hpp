// SPDX-License-Identifier: Apache-2.0
// Matcher: which receive takes which message, by the rules of MPI: messages of one sender and
// context do not overtake each other, and a receive may leave the sender, the tag or both open.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "core/match/queue_table.hpp"

namespace weft::match {

/// Names a receive or a message of the caller's. The matcher only gives it back.
using Token = std::uint64_t;

/// A message that has arrived and that no receive has taken.
struct Message {
  Envelope envelope;
  Token token = 0;
  friend bool operator==(const Message&, const Message&) = default;
};

/// A receive that waits, for `cancel`. Never reused within 2^32 receives in its place.
struct WaitingReceive {
  std::uint32_t place = 0;
  std::uint32_t life = 0;
};

/// The outcome of posting a receive: it took a message, or it waits.
struct Posted {
  std::optional<Message> message;
  WaitingReceive waiting;  ///< valid if there is no message
};

/// The posted receives and the unexpected messages of one process. Every call takes constant time
/// for any number of them, apart from growth. Memory is that of the most that waited at once. One
/// thread.
///
/// A message goes to the oldest waiting receive whose pattern fits; a receive takes the oldest
/// waiting message that fits.
class Matcher {
 public:
  /// A receive of messages that fit `pattern`, whose source and tag may be wildcards.
  Posted post(const Envelope& pattern, Token receive);
  /// A message arrives. Messages of one source and context arrive in the order of their sending.
  /// Returns the receive that takes it; none: the message waits. No wildcards.
  std::optional<Token> arrive(const Envelope& envelope, Token message) {
    const auto receive = take_receive(envelope);
    if (!receive) keep_message(envelope, message);
    return receive;
  }
  /// The two parts of `arrive`. A message is kept only when no receive takes it.
  std::optional<Token> take_receive(const Envelope& envelope);
  void keep_message(const Envelope& envelope, Token message);
  /// The message that a receive of that pattern would take now. It goes on waiting.
  std::optional<Message> probe(const Envelope& pattern) const;
  /// The same, and no other receive can take it any more (MPI_Mprobe).
  std::optional<Message> extract(const Envelope& pattern);
  /// The receive waits no more. False: it took a message before.
  bool cancel(WaitingReceive receive);

  std::size_t waiting_receives() const { return receives_; }
  std::size_t waiting_messages() const { return messages_; }

 private:
  /// A receive is in the queue of its pattern. A message is in four: as all receives that could
  /// take it look into one queue each.
  struct Node {
    Envelope envelope;
    Token token = 0;
    std::uint64_t sequence = 0;  // of receives: which waits longer
    std::array<Links, patterns> links;
    std::uint32_t life = 0;
    bool is_waiting_receive = false;
  };

  /// A receive is in one queue only.
  static constexpr std::size_t receive_link = 0;

  void grow();
  std::optional<Token> take_oldest_receive(const Envelope& envelope);
  std::uint32_t take_place(const Envelope& envelope, Token token);
  void free_place(std::uint32_t place);
  void append(Ends& ends, std::uint32_t place, std::size_t link);
  void unlink(Ends& ends, std::uint32_t place, std::size_t link);
  void remove_receive(std::uint32_t place, Queues& queues);
  void remove_message(std::uint32_t place);
  std::uint32_t oldest_message(const Envelope& pattern) const;

  std::vector<Node> nodes_;
  std::uint32_t free_ = none;
  QueueTable queues_;
  std::array<std::size_t, patterns> receives_of_{};  // by kind of pattern
  std::size_t receives_ = 0;
  std::size_t messages_ = 0;
  std::uint64_t next_sequence_ = 0;
};

// In the header: each message pays for them.

inline std::uint32_t Matcher::take_place(const Envelope& envelope, Token token) {
  if (free_ == none) grow();
  const std::uint32_t place = free_;
  Node& node = nodes_[place];
  free_ = node.links[0].next;
  node.envelope = envelope;
  node.token = token;
  return place;
}

inline void Matcher::free_place(std::uint32_t place) {
  Node& node = nodes_[place];
  ++node.life;
  node.is_waiting_receive = false;
  node.links[0].next = free_;
  free_ = place;
}

inline void Matcher::append(Ends& ends, std::uint32_t place, std::size_t link) {
  nodes_[place].links[link] = {.next = none, .previous = ends.last};
  (ends.last == none ? ends.first : nodes_[ends.last].links[link].next) = place;
  ends.last = place;
}

inline void Matcher::unlink(Ends& ends, std::uint32_t place, std::size_t link) {
  const Links links = nodes_[place].links[link];
  (links.previous == none ? ends.first : nodes_[links.previous].links[link].next) = links.next;
  (links.next == none ? ends.last : nodes_[links.next].links[link].previous) = links.previous;
}

inline void Matcher::remove_receive(std::uint32_t place, Queues& queues) {
  --receives_of_[kind_of(nodes_[place].envelope)];
  unlink(queues.receives, place, receive_link);
  queues_.drop_if_empty(queues);
  --receives_;
  free_place(place);
}

inline std::uint32_t Matcher::oldest_message(const Envelope& pattern) const {
  if (messages_ == 0) return none;
  const Queues* queues = queues_.find(pattern);
  return queues != nullptr ? queues->messages.first : none;
}

inline std::optional<Message> Matcher::extract(const Envelope& pattern) {
  const std::uint32_t place = oldest_message(pattern);
  if (place == none) return std::nullopt;
  const Message message{nodes_[place].envelope, nodes_[place].token};
  remove_message(place);
  return message;
}

inline Posted Matcher::post(const Envelope& pattern, Token receive) {
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

inline std::optional<Token> Matcher::take_receive(const Envelope& envelope) {
  WEFT_CHECK(kind_of(envelope) == 0);
  // As mostly: none of the receives has a wildcard.
  if (receives_ != receives_of_[0]) return take_oldest_receive(envelope);
  if (receives_ == 0) return std::nullopt;
  Queues* const queues = queues_.find(envelope);
  if (queues == nullptr || queues->receives.first == none) return std::nullopt;
  const std::uint32_t place = queues->receives.first;
  const Token receive = nodes_[place].token;
  remove_receive(place, *queues);
  return receive;
}

}  // namespace weft::match
