// SPDX-License-Identifier: Apache-2.0
// What arrives from one sender of a communicator; for the sources of Transfer alone.
#pragma once

#include "base/growing_ring.hpp"
#include "mpi/object/transfer.hpp"

namespace weft::mpi {

/// Takes the envelopes of one sender, and the short messages of collective operations among them.
class Transfer::Lane final : public message::Sink {
 public:
  Lane(Transfer& transfer, const Group& group, std::uint32_t source)
      : transfer_(transfer), group_(group), source_(source) {}
  const Group& group() const { return group_; }
  std::uint32_t source() const { return source_; }
  NodeId sender() const { return group_.members[source_]; }
  void take(std::span<const std::byte> bytes) override;
  void fail(message::Failure failure) override {
    transfer_.has_arrived_ = true;
    wanted.clear();
    if (transfer_.failure_ || failure == message::Failure::none) return;
    transfer_.failure_ = transfer_.messenger_.failure_of(failure, sender());
  }

  struct Wanted {
    std::span<std::byte> into;
    bool* done = nullptr;
    std::uint32_t place = 0;
    CallName call;
  };
  struct Early {
    std::vector<std::byte> content;
    std::uint32_t place = 0;
    CallName call;
  };
  /// Short messages: receives that wait, or messages that arrived before their receives.
  GrowingRing<Wanted> wanted;
  GrowingRing<Early> early;
  /// The place of a short message is the number of plain ones of tag 0 before it, modulo 2^31: both
  /// ends count, and where they differ one end takes for long what the other takes for short.
  std::uint32_t sent_plain = 0;
  std::uint32_t wanted_plain = 0;
  std::uint64_t last_wanted_plain = 0;     // bytes
  GrowingRing<std::uint64_t> early_plain;  // bytes of those that arrived before their receives

 private:
  Transfer& transfer_;
  const Group& group_;
  std::uint32_t source_;
};

}  // namespace weft::mpi
