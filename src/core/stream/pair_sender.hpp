// SPDX-License-Identifier: Apache-2.0
// PairSender: an input node's side of one (input, compute) pair: where the next contribution goes
// in the compute node's ring, how much room ("tickets", paper 1, section II) is left, and which
// contributions are on their way.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/stream/messages.hpp"
#include "core/stream/outbox.hpp"
#include "weft/fabric.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::stream {

class PairSender {
 public:
  /// Operations that one contribution posts at most: its content in two parts, its descriptor.
  static constexpr std::size_t operations = 3;

  PairSender(NodeId peer, std::uint32_t pair);

  /// Starts afresh on the memory that the Hello describes, in the node's view number `count`. A
  /// Hello whose regions cannot hold a ring leaves the pair closed.
  void open(const Hello& hello, std::uint32_t count);
  void close() { open_ = false; }
  bool is_open() const { return open_; }
  /// The view in which it was opened last.
  std::uint32_t view() const { return view_; }
  /// Bytes of the data ring: no contribution may be larger.
  std::uint64_t ring_bytes() const { return data_.length; }

  bool has_credit(std::uint64_t bytes) const;
  /// Posts the content's one or two writes and the descriptor's. Needs credit and an open pair.
  void start(Instant now, const ContributionDescriptor& descriptor,
             const std::array<std::span<const std::byte>, 2>& content, ServiceLevel level,
             Outbox& out);
  std::uint64_t written() const { return written_; }

  /// One of the writes of record `record` completed: its local bytes are free.
  void write_completed(std::uint64_t record);
  struct Acknowledged {
    TimesliceIndex timeslice{};
    Instant started{};
  };
  /// Applies a Credit of this view; impossible ones are refused with false.
  bool on_credit(const Credit& credit);
  /// The next contribution that the compute node has received since the last call.
  std::optional<Acknowledged> take_acknowledged();
  /// The next contribution, in order of writing, that was consumed and whose bytes are free.
  std::optional<TimesliceIndex> take_consumed();
  /// Context of a write: the highest bit says that it is one, 9 bits are of the view, 14 of the
  /// pair, 40 of the record. A node counts its views for this: numbers of views that follow each
  /// other are as far apart as there are input nodes, and may agree in these bits.
  static bool is_write(std::uint64_t context) { return context >> 63 != 0; }
  static bool is_of_view(std::uint64_t context, std::uint32_t count) {
    return (context >> 54 & view_bits) == (count & view_bits);
  }
  static std::uint32_t pair_of(std::uint64_t context) {
    return static_cast<std::uint32_t>(context >> 40 & pair_bits);
  }
  static std::uint64_t record_of(std::uint64_t context) {
    return context & ((std::uint64_t{1} << 40) - 1);
  }
  double fill() const {
    return data_.length == 0 ? 0
                             : static_cast<double>(position_ - released_bytes_) /
                                   static_cast<double>(data_.length);
  }

 private:
  static constexpr std::uint64_t view_bits = (1 << 9) - 1;
  static constexpr std::uint64_t pair_bits = (1 << 14) - 1;
  struct Record {
    ContributionDescriptor descriptor;  // stays put until the pair's ring comes round
    std::uint32_t writes_left = 0;
    Instant started{};
  };
  void write(std::uint64_t offset, std::array<std::span<const std::byte>, 2> segments,
             const RemoteRegion& region, ServiceLevel level, Outbox& out);

  NodeId peer_;
  std::uint32_t pair_;
  bool open_ = false;
  std::uint32_t view_ = 0;
  std::uint64_t view_count_ = 0;
  RemoteRegion data_;
  RemoteRegion descriptors_;
  std::vector<Record> records_;
  // Counts since open: consumed ≤ released ≤ received ≤ written, and acknowledged ≤ received.
  std::uint64_t written_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t consumed_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t released_bytes_ = 0;
};

}  // namespace weft::stream
