// SPDX-License-Identifier: Apache-2.0
#include "core/stream/assembly_table.hpp"

#include "base/check.hpp"

namespace weft::stream {

AssemblyTable::AssemblyTable(std::uint32_t inputs) : inputs_(inputs), index_(64, 0) {}

std::size_t AssemblyTable::home(std::uint64_t key) const {
  return ((key * 0x9e3779b97f4a7c15ULL) >> 32) & (index_.size() - 1);
}

Assembly* AssemblyTable::find(TimesliceIndex t) {
  for (std::size_t i = home(t.value());; i = (i + 1) & (index_.size() - 1)) {
    if (index_[i] == 0) return nullptr;
    Pooled& pooled = *pool_[index_[i] - 1];
    if (pooled.timeslice == t) return &pooled;
  }
}

void AssemblyTable::place(std::uint32_t pooled) {
  std::size_t i = home(pool_[pooled]->timeslice.value());
  while (index_[i] != 0) i = (i + 1) & (index_.size() - 1);
  index_[i] = pooled + 1;
}

void AssemblyTable::grow() {
  index_.assign(index_.size() * 2, 0);
  for (std::uint32_t p = 0; p < pool_.size(); ++p) {
    if (pool_[p]->in_use) place(p);
  }
}

Assembly& AssemblyTable::create(TimesliceIndex t) {
  WEFT_CHECK(find(t) == nullptr);
  if ((used_ + 1) * 2 > index_.size()) grow();
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(pool_.size()));
    pool_.push_back(std::make_unique<Pooled>());
    pool_.back()->waiting_for = IndexSet(inputs_);
    pool_.back()->components.resize(inputs_);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  Pooled& pooled = *pool_[slot];
  pooled.timeslice = t;
  pooled.state = Assembly::State::collecting;
  pooled.flags = 0;
  pooled.first = pooled.last = Instant{};
  for (auto& component : pooled.components) component = Component{};
  pooled.in_use = true;
  ++used_;
  place(slot);
  return pooled;
}

void AssemblyTable::erase(TimesliceIndex t) {
  std::size_t hole = home(t.value());
  while (index_[hole] == 0 || pool_[index_[hole] - 1]->timeslice != t) {
    WEFT_CHECK(index_[hole] != 0, "no assembly of timeslice {}", t.value());
    hole = (hole + 1) & (index_.size() - 1);
  }
  const std::uint32_t slot = index_[hole] - 1;
  pool_[slot]->in_use = false;
  free_.push_back(slot);
  --used_;
  // Close the gap: move back every later entry of the run that may stand at the hole.
  std::size_t next = hole;
  index_[hole] = 0;
  for (;;) {
    next = (next + 1) & (index_.size() - 1);
    if (index_[next] == 0) return;
    const std::size_t wanted = home(pool_[index_[next] - 1]->timeslice.value());
    const bool stays =
        hole <= next ? (wanted > hole && wanted <= next) : (wanted > hole || wanted <= next);
    if (stays) continue;
    index_[hole] = index_[next];
    index_[next] = 0;
    hole = next;
  }
}

}  // namespace weft::stream
