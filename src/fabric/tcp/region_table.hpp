// SPDX-License-Identifier: Apache-2.0
// The memory that peers may write into, by key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/fabric.hpp"

namespace weft::tcp {

/// A key is the number of a slot and a generation, so that a key of the past never fits again.
class RegionTable {
 public:
  /// Generations count from `first_generation`, so that keys of another life do not fit.
  explicit RegionTable(std::uint32_t first_generation) : next_generation_(first_generation) {}

  Region expose(std::span<std::byte> memory);
  /// False when no such region is exposed.
  bool retract(std::uint64_t key);
  /// The address of `length` bytes at `offset` of region `key`; null when any of them is outside,
  /// or there is no such region. Values may come from anywhere.
  std::byte* find(std::uint64_t key, std::uint64_t offset, std::uint64_t length) const;

 private:
  struct Slot {
    std::uint64_t key = 0;  // 0: free
    std::span<std::byte> memory;
  };
  std::uint32_t next_generation_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;
};

}  // namespace weft::tcp
