// SPDX-License-Identifier: Apache-2.0
// Border: the part of a network that is simulated here when several processes, its parts, share the
// work, and the crossings to the others: packets that arrive at a vertex of theirs, and room in
// buffers behind links that start there. Collected in one batch of bytes per part.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "sim/network/packet.hpp"
#include "sim/topology/topology.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::sim {

enum class CrossingKind : std::uint32_t { packet = 1, credit = 2, loss = 3, word = 4 };

/// A packet's arrival, with its place in the order of events, and the part of its message that the
/// destination has to know. All parts run the same program on machines of one kind: the bytes in
/// memory are the bytes sent.
struct PacketCrossing {
  CrossingKind kind = CrossingKind::packet;
  std::uint32_t bytes = 0;
  PicoInstant time{};
  std::uint32_t source = 0;  ///< vertex that sent it
  std::uint32_t sequence = 0;
  std::uint32_t target = 0;      ///< vertex that it arrives at
  std::uint32_t arrived_by = 0;  ///< LinkId; nothing at a host
  PicoInstant tail{};
  RouteState route{};
  std::uint16_t port = 0;  ///< of the target
  std::uint16_t lane = 0;
  std::uint16_t user = 0;
  std::uint8_t level = 0;
  std::uint8_t last = 0;
  std::uint32_t from_host = 0;
  std::uint32_t to_host = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t flow = 0;
  std::uint64_t tag = 0;
  PicoInstant posted{};
  std::uint64_t serial = 0;  ///< see Message
  std::uint32_t record = 0;  ///< see Message
  std::uint32_t spare = 0;
};
static_assert(std::has_unique_object_representations_v<PacketCrossing>);

struct CreditCrossing {
  CrossingKind kind = CrossingKind::credit;
  std::uint32_t link = 0;
  std::uint32_t lane = 0;
  std::uint32_t bytes = 0;
  PicoInstant at{};
};
static_assert(std::has_unique_object_representations_v<CreditCrossing>);

/// A packet was lost: its host, which is in another part, is to send its bytes again.
struct LossCrossing {
  CrossingKind kind = CrossingKind::loss;
  std::uint32_t payload = 0;  ///< bytes to send again
  PicoInstant time{};         ///< when
  std::uint32_t source = 0;   ///< vertex that sent it into the link that lost it
  std::uint32_t sequence = 0;
  std::uint32_t from_host = 0;
  std::uint32_t to_host = 0;
  std::uint64_t message_bytes = 0;
  std::uint64_t flow = 0;
  std::uint64_t tag = 0;
  PicoInstant posted{};
  std::uint64_t serial = 0;  ///< see Message
  std::uint32_t record = 0;  ///< see Message
  std::uint16_t user = 0;
  std::uint8_t level = 0;
  std::uint8_t spare = 0;
};
static_assert(std::has_unique_object_representations_v<LossCrossing>);

/// A message of a network's user to itself in another part; that many bytes follow.
struct WordCrossing {
  CrossingKind kind = CrossingKind::word;
  std::uint32_t user = 0;
  std::uint64_t bytes = 0;
};
static_assert(std::has_unique_object_representations_v<WordCrossing>);

/// Guarantees for a divided simulation: the more there are, the longer parts go on by themselves.
struct Guarantees {
  std::uint32_t smallest_packet = 1;  ///< no packet has fewer bytes, header included
  Bandwidth fastest{};  ///< no link will have a higher rate than that, or than NetworkOptions say
  bool lossy = false;   ///< links may be declared lossy
  /// Words of users to other parts take effect there so much later, or later still; the longest
  /// duration there is: users send none.
  PicoDuration words_matter_after = PicoDuration::max();

  /// Returns whether parts that no cable connects have something for each other.
  bool everybody_talks() const { return lossy || words_matter_after != PicoDuration::max(); }
};

class Border {
 public:
  static constexpr std::uint32_t most_parts = 1u << 16;

  /// `owners`: by vertex, the part that simulates it, 0 … parts−1. This is part `self`.
  Border(std::vector<std::uint32_t> owners, std::uint32_t self, std::uint32_t parts)
      : owners_(std::move(owners)), self_(self), outgoing_(parts) {
    WEFT_CHECK(self < parts && parts <= most_parts, "part {} of {}", self, parts);
  }

  std::uint32_t self() const { return self_; }
  const std::vector<std::uint32_t>& owners() const { return owners_; }
  bool is_own(Vertex v) const { return owners_[v.value()] == self_; }
  std::uint32_t owner(Vertex v) const { return owners_[v.value()]; }

  /// No crossing sent from now on takes effect before `horizon`: the others may go on until then.
  void set_horizon(PicoInstant horizon) { horizon_ = horizon; }
  void send(Vertex to, const PacketCrossing& packet) { append(to, packet.time, packet); }
  void send(Vertex to, const CreditCrossing& credit) { append(to, credit.at, credit); }
  void send(Vertex to, const LossCrossing& loss) { append(to, loss.time, loss); }
  /// All bytes of `parts`, one after the other, for a user; nothing happens because of them before
  /// `matters_from`. never: they make nothing happen by themselves.
  void send(Vertex to, std::uint16_t user, PicoInstant matters_from,
            std::initializer_list<std::span<const std::byte>> parts) {
    WordCrossing word{.user = user};
    for (const auto& bytes : parts) word.bytes += bytes.size();
    append(to, matters_from, word);
    auto& batch = outgoing_[owners_[to.value()]];
    for (const auto& bytes : parts) batch.insert(batch.end(), bytes.begin(), bytes.end());
  }

  /// The crossings sent since the last `clear`, by part; and the time of the earliest.
  std::vector<std::vector<std::byte>>& outgoing() { return outgoing_; }
  PicoInstant earliest() const { return earliest_; }
  void clear() {
    for (auto& batch : outgoing_) batch.clear();
    earliest_ = PicoInstant::never();
  }

 private:
  template <class T>
  void append(Vertex to, PicoInstant at, const T& crossing) {
    WEFT_CHECK(at >= horizon_, "{} ps is before {} ps, which others need not wait for", at.ticks(),
               horizon_.ticks());
    const auto bytes = std::as_bytes(std::span(&crossing, 1));
    auto& batch = outgoing_[owners_[to.value()]];
    batch.insert(batch.end(), bytes.begin(), bytes.end());
    earliest_ = std::min(earliest_, at);
  }

  std::vector<std::uint32_t> owners_;
  std::uint32_t self_;
  PicoInstant horizon_{};
  PicoInstant earliest_ = PicoInstant::never();
  std::vector<std::vector<std::byte>> outgoing_;
};

}  // namespace weft::sim
