// SPDX-License-Identifier: Apache-2.0
// FlowTable finds a host's flows by the number of their destination. A host with thousands of peers
// has thousands of flows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/network/pool.hpp"

namespace weft::sim {

inline constexpr std::uint64_t no_flow = ~std::uint64_t{0};

/// A host's messages to one destination at one level, in order, as a queue pair keeps them.
struct Flow {
  std::uint64_t destination = no_flow;  ///< with the queue pair in its high bits
  std::uint32_t tail = kNone;           ///< the flow's last message
};

/// A hash table with open addressing and linear probing, which is at most half full.
class FlowTable {
 public:
  /// Returns the destination's flow; adds one without messages if there is none. The reference is
  /// valid until the next call of `at` or `erase`.
  Flow& at(std::uint64_t destination) {
    if ((used_ + 1) * 2 > slots_.size()) grow();
    std::size_t i = find(destination);
    if (slots_[i].destination == no_flow) {
      slots_[i] = {.destination = destination};
      ++used_;
    }
    return slots_[i];
  }
  /// Removes the destination's flow, which must exist.
  void erase(std::uint64_t destination) {
    std::size_t hole = find(destination);
    slots_[hole] = {};
    --used_;
    // Close the gap: move back every later flow of the run that may stand at the hole.
    for (std::size_t next = after(hole); slots_[next].destination != no_flow; next = after(next)) {
      const std::size_t distance = (next - home(slots_[next].destination)) & mask();
      if (distance < ((next - hole) & mask())) continue;
      slots_[hole] = std::exchange(slots_[next], {});
      hole = next;
    }
  }
  /// Fetches the flows into the cache if there are few.
  [[gnu::always_inline]] void fetch() const {
    if (slots_.empty()) return;
    __builtin_prefetch(slots_.data(), 1);
    __builtin_prefetch(slots_.data() + fewest / 2, 1);
  }
  std::size_t size() const { return used_; }
  std::size_t memory_bytes() const { return slots_.capacity() * sizeof(Flow); }

 private:
  static constexpr std::size_t fewest = 8;

  std::size_t mask() const { return slots_.size() - 1; }
  std::size_t after(std::size_t i) const { return (i + 1) & mask(); }
  std::size_t home(std::uint64_t destination) const {
    return (destination * 0x9e3779b97f4a7c15ULL >> 32) & mask();
  }
  /// Returns the destination's slot, or the free slot that it would take.
  std::size_t find(std::uint64_t destination) const {
    std::size_t i = home(destination);
    while (slots_[i].destination != no_flow && slots_[i].destination != destination) i = after(i);
    return i;
  }
  void grow() {
    const std::vector<Flow> before =
        std::exchange(slots_, std::vector<Flow>(slots_.empty() ? fewest : slots_.size() * 2));
    for (const Flow& flow : before) {
      if (flow.destination != no_flow) slots_[find(flow.destination)] = flow;
    }
  }

  std::vector<Flow> slots_;
  std::size_t used_ = 0;
};

}  // namespace weft::sim
