// SPDX-License-Identifier: Apache-2.0
// Operations that were started and have not been waited for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.hpp"
#include "core/message/name.hpp"
#include "weft/message.hpp"

namespace weft::message {

/// Why an operation failed.
enum class Failure : std::uint8_t {
  none,
  peer_gone,     ///< the peer has been gone for longer than the time limit
  not_kept,      ///< the peer does not keep messages to an earlier life of this process
  too_long,      ///< the message does not fit into the receiver's memory
  outbox_full,   ///< everything is to be kept, and there is no room
  bad_protocol,  ///< the peer speaks another version
  cancelled,     ///< this process does not wait for it any more
};

/// One operation, from its start until `take`.
struct OperationState {
  enum class Kind : std::uint8_t { send, receive };
  Kind kind = Kind::send;
  Failure failure = Failure::none;
  bool done = false;
  std::uint32_t next_free = 0;
  std::uint64_t number = 0;  // of the operation; with the bit `free_place` after `take`
  NodeId peer{};
  FlowKey flow;
  Serial serial = 0;
  std::uint64_t size = 0;  ///< bytes moved; of too_long: bytes of the message
};

/// A table that grows to the most operations outstanding at once. Functions abort for an operation
/// that was taken already or never started. One thread.
class Operations {
 public:
  Operation start(OperationState::Kind kind, NodeId peer, const FlowKey& flow, Serial serial) {
    if (free_ == none) {
      states_.emplace_back();
      states_.back().next_free = none;
      free_ = static_cast<std::uint32_t>(states_.size() - 1);
    }
    const std::uint32_t index = free_;
    OperationState& state = states_[index];
    free_ = state.next_free;
    const std::uint64_t number = life_after(state.number) << 32 | index;
    state = {.kind = kind, .number = number, .peer = peer, .flow = flow, .serial = serial};
    ++pending_;
    return Operation(number);
  }
  /// Returns an operation of `size` bytes that is done at its start: it needs no place in the
  /// table.
  static Operation done(std::uint64_t size) { return Operation(done_bit | size); }
  /// The operation is done; it was not before, nor at its start.
  void finish(Operation operation, std::uint64_t size, Failure failure = Failure::none) {
    OperationState& state = at(operation);
    WEFT_CHECK(!state.done);
    state.done = true;
    state.size = size;
    state.failure = failure;
    --pending_;
  }
  /// Returns the result of an operation that is done, and frees its place. The result is valid
  /// until another operation is started or taken.
  const OperationState& take(Operation operation) {
    if (is_born_done(operation)) {
      born_done_.size = operation.number() & ~done_bit;
      return born_done_;
    }
    OperationState& state = at(operation);
    WEFT_CHECK(state.done);
    state.number |= free_place;
    state.next_free = free_;
    free_ = static_cast<std::uint32_t>(operation.number());
    return state;
  }
  bool is_done(Operation operation) const {
    return is_born_done(operation) || states_[index(operation)].done;
  }
  /// Returns what is known of an operation; null: it was done at its start. Valid as `take`'s is.
  const OperationState* find(Operation operation) const {
    return is_born_done(operation) ? nullptr : &states_[index(operation)];
  }
  /// Returns the size of a message that was too long; nothing if it was not, or is not known yet.
  std::optional<std::uint64_t> excess(Operation operation) const {
    if (is_born_done(operation)) return std::nullopt;
    const OperationState& state = states_[index(operation)];
    if (state.failure != Failure::too_long) return std::nullopt;
    return state.size;
  }
  std::size_t pending() const { return pending_; }

 private:
  static constexpr std::uint32_t none = 0xffff'ffff;
  static constexpr std::uint64_t done_bit = std::uint64_t{1} << 63;
  /// No operation in use has this bit in its number.
  static constexpr std::uint64_t free_place = std::uint64_t{1} << 62;
  /// The lower half of a number is its place in the table. The upper half counts the operations of
  /// that place, from 1, since number 0 is no operation.
  static constexpr std::uint64_t most_lives = std::uint64_t{1} << 29;
  static constexpr std::uint64_t life_after(std::uint64_t number) {
    return ((number >> 32) % most_lives) + 1;
  }

  static bool is_born_done(Operation operation) { return (operation.number() & done_bit) != 0; }
  std::size_t index(Operation operation) const {
    const auto i = static_cast<std::uint32_t>(operation.number());
    WEFT_CHECK(i < states_.size() && states_[i].number == operation.number(),
               "operation {} is not under way", operation.number());
    return i;
  }
  OperationState& at(Operation operation) { return states_[index(operation)]; }

  std::vector<OperationState> states_;
  OperationState born_done_{.done = true};
  std::uint32_t free_ = none;
  std::size_t pending_ = 0;
};

}  // namespace weft::message
