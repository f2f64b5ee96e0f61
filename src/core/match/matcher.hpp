// SPDX-License-Identifier: Apache-2.0
// Matcher: matches receives and messages by MPI's rules: messages of one source and context do not
// overtake each other, and a receive may use wildcards for the source, the tag or both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "core/match/queue_table.hpp"

namespace weft::match {

/// The caller's name for a receive or a message. The matcher returns it and never interprets it.
using Token = std::uint64_t;

/// An unexpected message: it has arrived, and no receive has matched it.
struct Message {
  Envelope envelope;
  Token token = 0;
  friend bool operator==(const Message&, const Message&) = default;
};

/// Names a waiting receive for `cancel`; no name is given twice.
struct WaitingReceive {
  std::uint32_t place = 0;
  std::uint64_t sequence = 0;
};

/// The result of posting a receive: the message that it took, or its name while it waits.
struct Posted {
  std::optional<Message> message;
  WaitingReceive waiting;  ///< valid if there is no message
};

/// The posted receives and the unexpected messages of one process. Every call takes constant time,
/// however many of them wait, except when the tables grow. Memory grows with the largest number
/// that ever waited at once. One thread.
///
/// A message goes to the oldest waiting receive whose pattern fits; a receive takes the oldest
/// waiting message that fits.
class Matcher {
 public:
  /// A receive of messages that fit `pattern`, whose source and tag may be wildcards.
  Posted post(Envelope pattern, Token receive);
  /// The second part of `post`, where `extract` found no message.
  WaitingReceive wait(Envelope pattern, Token receive);
  /// A message arrives. Messages of one source and context arrive in the order of their sending.
  /// Returns the receive that takes it; none: the message waits. No wildcards.
  std::optional<Token> arrive(Envelope envelope, Token message) {
    Token receive = 0;
    if (take_receive(envelope, receive)) return receive;
    keep_message(envelope, message);
    return std::nullopt;
  }
  /// The two parts of `arrive`. A message is kept only when no receive takes it: then
  /// `take_receive` returns false, else it sets `receive`.
  bool take_receive(Envelope envelope, Token& receive);
  void keep_message(Envelope envelope, Token message);
  /// The message that a receive of that pattern would take now. It goes on waiting.
  std::optional<Message> probe(Envelope pattern) const;
  /// The same, and no other receive can take it any more (MPI_Mprobe).
  std::optional<Message> extract(Envelope pattern);
  /// The receive waits no more. False: it took a message before.
  bool cancel(WaitingReceive receive);

  /// `visit(pattern, receive)` of each waiting receive, in any order. It takes time as the most
  /// receives and messages that ever waited at once.
  template <class Visit>
  void for_each_receive(Visit&& visit) const {
    for (const Node& node : nodes_) {
      if (node.sequence != 0) visit(node.envelope, node.token);
    }
  }
  std::size_t waiting_receives() const { return receives_of_[0] + open_receives(); }
  std::size_t waiting_messages() const { return messages_; }

 private:
  /// A receive is in one queue, that of its pattern. A message is in four queues, one for each kind
  /// of pattern that matches it, so that every receive finds it in the queue of its own pattern. A
  /// cache line holds one node.
  struct alignas(64) Node {
    Envelope envelope;
    Token token = 0;
    std::uint64_t sequence = 0;  // the order of waiting receives; 0: no receive
    std::array<Links, patterns> links;
  };
  static_assert(sizeof(Node) == 64);

  /// Receives use only the first of a node's links.
  static constexpr std::size_t receive_link = 0;

  /// Returns the number of receives with wildcards.
  std::size_t open_receives() const {
    static_assert(patterns == 4);
    return receives_of_[1] + receives_of_[2] + receives_of_[3];
  }
  void grow();
  bool take_oldest_receive(Envelope envelope, Token& receive);
  std::uint32_t take_place(Envelope envelope, Token token);
  void free_place(std::uint32_t place);
  void append(Ends& ends, std::uint32_t place, std::size_t link);
  void unlink(Ends& ends, std::uint32_t place, std::size_t link);
  void remove_receive(std::uint32_t place, Queues& queues);
  void remove_message(std::uint32_t place);
  std::uint32_t oldest_message(Envelope pattern) const;

  std::vector<Node> nodes_;
  std::uint32_t free_ = none;
  QueueTable queues_;
  std::array<std::size_t, patterns> receives_of_{};  // by kind of pattern
  std::size_t messages_ = 0;
  std::uint64_t last_sequence_ = 0;
};

// These functions are inline because every message calls them.

inline std::uint32_t Matcher::take_place(Envelope envelope, Token token) {
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
  node.sequence = 0;
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
  free_place(place);
}

inline std::uint32_t Matcher::oldest_message(Envelope pattern) const {
  if (messages_ == 0) return none;
  const Queues* queues = queues_.find(pattern);
  return queues != nullptr ? queues->messages.first : none;
}

inline std::optional<Message> Matcher::extract(Envelope pattern) {
  const std::uint32_t place = oldest_message(pattern);
  if (place == none) return std::nullopt;
  const Message message{nodes_[place].envelope, nodes_[place].token};
  remove_message(place);
  return message;
}

inline Posted Matcher::post(Envelope pattern, Token receive) {
  if (messages_ > 0) {
    if (auto message = extract(pattern)) return {.message = message, .waiting = {}};
  }
  return {.message = std::nullopt, .waiting = wait(pattern, receive)};
}

inline WaitingReceive Matcher::wait(Envelope pattern, Token receive) {
  const std::uint32_t place = take_place(pattern, receive);
  const std::uint64_t sequence = ++last_sequence_;
  nodes_[place].sequence = sequence;
  append(queues_.find_or_make(pattern).receives, place, receive_link);
  ++receives_of_[kind_of(pattern)];
  return {place, sequence};
}

inline bool Matcher::take_receive(Envelope envelope, Token& receive) {
  WEFT_CHECK(kind_of(envelope) == 0);
  // Only receives with wildcards need the search; most programs have none.
  if (open_receives() > 0) return take_oldest_receive(envelope, receive);
  if (receives_of_[0] == 0) return false;
  Queues* const queues = queues_.find(envelope);
  if (queues == nullptr || queues->receives.first == none) return false;
  const std::uint32_t place = queues->receives.first;
  const Node& node = nodes_[place];
  receive = node.token;
  const std::uint32_t next = node.links[receive_link].next;
  queues->receives.first = next;
  (next == none ? queues->receives.last : nodes_[next].links[receive_link].previous) = none;
  --receives_of_[0];
  queues_.drop_if_empty(*queues);
  free_place(place);
  return true;
}

}  // namespace weft::match
