// SPDX-License-Identifier: Apache-2.0
// PairReceiver: a compute node's side of one (input, compute) pair: the ring that the input node
// writes into, its contributions, and the parts that may be overwritten.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/stream/input_buffer.hpp"
#include "core/stream/messages.hpp"
#include "weft/fabric.hpp"

namespace weft::stream {

/// The memory of one pair, exposed to the fabric by the driver.
struct PairMemory {
  MirroredBytes data;
  std::span<const std::byte> descriptors;  ///< ContributionDescriptors, 20 bytes each
  RemoteRegion data_region;
  RemoteRegion descriptor_region;
};

class PairReceiver {
 public:
  explicit PairReceiver(const PairMemory& memory);

  /// One contribution that arrived.
  struct Arrival {
    ContributionDescriptor descriptor;
    std::uint64_t record = 0;
    std::uint64_t position = 0;  ///< absolute position in the data ring
  };

  /// Returns whether nothing of the ring is in use, so that the pair may start afresh.
  bool drained() const { return released_ == seen_; }
  /// Starts afresh in view `view` (drained only): `hello` goes to the input node.
  void restart(std::uint32_t view);
  Hello hello() const;
  bool offered() const { return offered_; }
  /// The view in which it was offered last, and whether anything has come of it.
  std::uint32_t view() const { return view_; }
  bool untouched() const { return written_ == 0; }
  /// Contributions that the input node writes from now on do not count.
  void withdraw() { offered_ = false; }
  void offer_again() { offered_ = true; }

  enum class Accepted : std::uint8_t { yes, ignored, refused };
  /// Takes a Written in; arrivals are then there to be taken. Refused: it cannot be true.
  Accepted on_written(const Written& written);
  /// The next contribution; refuses a descriptor that contradicts the ring (`corrupt` turns true).
  std::optional<Arrival> take_arrival();
  bool corrupt() const { return corrupt_; }

  /// The contribution of that record was consumed.
  void release(std::uint64_t record);
  Credit credit() const { return {view_, seen_, released_, released_bytes_}; }
  /// The last credit sent to the input node, and whether an eighth of the ring has become free
  /// since: too much to wait for company.
  void told_credit() {
    told_released_ = released_;
    told_bytes_ = released_bytes_;
  }
  bool owes_much_credit() const {
    return (released_ - told_released_) * 8 >= slots_ ||
           (released_bytes_ - told_bytes_) * 8 >= memory_.data.size;
  }
  /// Content bytes in place, contiguous.
  std::span<const std::byte> content(std::uint64_t position, std::uint32_t size) const {
    return memory_.data.at(position, size);
  }
  /// Share of the data ring in use, 0 … 1 (paper 1, Fig. 9).
  double fill() const {
    return static_cast<double>(position_ - released_bytes_) /
           static_cast<double>(memory_.data.size);
  }

 private:
  struct Record {
    std::uint32_t size = 0;
    bool released = false;
  };

  PairMemory memory_;
  std::uint64_t slots_;
  std::vector<Record> records_;
  bool offered_ = false;
  bool corrupt_ = false;
  std::uint32_t view_ = 0;
  // Counts since the last restart: released ≤ seen ≤ written.
  std::uint64_t written_ = 0;
  std::uint64_t seen_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t released_bytes_ = 0;
  std::uint64_t told_released_ = 0;
  std::uint64_t told_bytes_ = 0;
};

}  // namespace weft::stream
