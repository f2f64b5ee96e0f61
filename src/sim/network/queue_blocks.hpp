// SPDX-License-Identifier: Apache-2.0
// QueueBlocks: input queues of switches' lanes, a block of as many as the switch has inputs while
// anything waits for the lane. Most lanes have nothing: a queue for each input, output and lane
// would be memory that is never used.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "base/huge_pages.hpp"
#include "sim/network/lane.hpp"

namespace weft::sim {

class QueueBlocks {
 public:
  /// The number of a kind of blocks: those of so many queues.
  std::uint16_t kind(std::uint32_t queues) {
    const auto same = [queues](const Kind& k) { return k.queues == queues; };
    const auto at = std::find_if(kinds_.begin(), kinds_.end(), same);
    const auto number = static_cast<std::uint16_t>(at - kinds_.begin());
    if (at == kinds_.end()) kinds_.push_back({.queues = queues, .free = {}});
    return number;
  }
  /// The first queue of a block; all of them are empty.
  std::uint32_t take(std::uint16_t kind) {
    Kind& of = kinds_[kind];
    if (!of.free.empty()) {
      const std::uint32_t first = of.free.back();
      of.free.pop_back();
      return first;
    }
    WEFT_CHECK(queues_.size() + of.queues < kNone, "more queues than can be numbered");
    queues_.resize(queues_.size() + of.queues);
    return static_cast<std::uint32_t>(queues_.size() - of.queues);
  }
  /// All queues of the block are empty again.
  void give_back(std::uint16_t kind, std::uint32_t first) { kinds_[kind].free.push_back(first); }
  /// References last until the next `take`.
  InputQueue& operator[](std::uint32_t queue) { return queues_[queue]; }
  const InputQueue& operator[](std::uint32_t queue) const { return queues_[queue]; }
  const InputQueue* data() const { return queues_.data(); }
  std::size_t capacity_bytes() const { return queues_.capacity() * sizeof(InputQueue); }

 private:
  struct Kind {
    std::uint32_t queues = 0;
    std::vector<std::uint32_t> free;
  };
  std::vector<Kind> kinds_;
  HugeVector<InputQueue> queues_;
};

}  // namespace weft::sim
