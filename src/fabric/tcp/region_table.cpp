// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/region_table.hpp"

namespace weft::tcp {
namespace {

// The target of a write of no bytes to a region of no bytes.
std::byte nowhere{};

}  // namespace

Region RegionTable::expose(std::span<std::byte> memory) {
  if (free_.empty()) {
    free_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const std::size_t slot = free_.back();
  free_.pop_back();
  if (next_generation_ == 0) ++next_generation_;
  const std::uint64_t key = (std::uint64_t{next_generation_++} << 32) | slot;
  slots_[slot] = {key, memory};
  return {memory, {key, 0, memory.size()}};
}

bool RegionTable::retract(std::uint64_t key) {
  const std::size_t slot = key & 0xFFFFFFFF;
  if (key == 0 || slot >= slots_.size() || slots_[slot].key != key) return false;
  slots_[slot] = {};
  free_.push_back(slot);
  return true;
}

std::byte* RegionTable::find(std::uint64_t key, std::uint64_t offset, std::uint64_t length) const {
  const std::size_t slot = key & 0xFFFFFFFF;
  if (key == 0 || slot >= slots_.size() || slots_[slot].key != key) return nullptr;
  const std::span<std::byte> memory = slots_[slot].memory;
  if (offset > memory.size() || length > memory.size() - offset) return nullptr;
  return memory.data() == nullptr ? &nowhere : memory.data() + offset;
}

}  // namespace weft::tcp
