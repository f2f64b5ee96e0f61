// SPDX-License-Identifier: Apache-2.0
// HeldPackets: packets on their way, each until it is due.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "weft/time.hpp"

namespace weft::testbed {

/// A queue, first in, first out: no packet overtakes another. Memory of packets that left is used
/// again. One thread.
class HeldPackets {
 public:
  bool empty() const { return packets_.empty(); }
  /// Returns when the first packet may leave; never when there is none.
  Instant next_due() const { return empty() ? Instant::never() : packets_.front().due; }
  std::span<const std::byte> first() const { return packets_.front().bytes; }

  void push(Instant due, std::span<const std::byte> bytes) {
    std::vector<std::byte> copy;
    if (!spare_.empty()) {
      copy = std::move(spare_.back());
      spare_.pop_back();
    }
    copy.assign(bytes.begin(), bytes.end());
    packets_.push_back({due, std::move(copy)});
  }
  void pop() {
    if (spare_.size() < kMostSpare) spare_.push_back(std::move(packets_.front().bytes));
    packets_.pop_front();
  }

 private:
  static constexpr std::size_t kMostSpare = 1024;
  struct Packet {
    Instant due;
    std::vector<std::byte> bytes;
  };
  std::deque<Packet> packets_;
  std::vector<std::vector<std::byte>> spare_;
};

}  // namespace weft::testbed
