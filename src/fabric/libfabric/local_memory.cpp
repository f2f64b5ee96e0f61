// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/local_memory.hpp"

#include <array>
#include <utility>

namespace weft::ofi {
namespace {

constexpr std::uint64_t page = 4096;
// libfabric has no paging that a program asks for by region.
constexpr fabric::MemoryMode only_mode = fabric::MemoryMode::pinned;

}  // namespace

LocalRegistration& LocalRegistration::operator=(LocalRegistration&& other) noexcept {
  if (this == &other) return *this;
  reset();
  region_ = std::exchange(other.region_, nullptr);
  own_ = std::move(other.own_);
  kept_by_ = std::exchange(other.kept_by_, nullptr);
  use_ = std::exchange(other.use_, {});
  return *this;
}

void LocalRegistration::reset() {
  if (kept_by_ != nullptr) kept_by_->cache_.release(use_);
  kept_by_ = nullptr;
  own_.reset();
  region_ = nullptr;
}

LocalMemory::LocalMemory(Endpoint& endpoint, std::unique_ptr<fabric::MemoryMonitor> monitor)
    : endpoint_(endpoint), monitor_(std::move(monitor)), cache_(*this, {}) {}

/// Forgets the registrations of pages that have changed.
void LocalMemory::forget_changes() {
  std::array<fabric::MemoryChange, 16> changes;
  while (const std::size_t n = monitor_->take(changes)) {
    for (std::size_t i = 0; i < n; ++i) cache_.invalidate(changes[i].address, changes[i].bytes);
  }
}

Result<LocalRegistration> LocalMemory::acquire(std::span<const std::byte> memory) {
  LocalRegistration registration;
  if (monitor_ != nullptr && !memory.empty()) {
    if (monitor_->has_changes()) forget_changes();
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uint64_t from = begin / page * page;
    const std::uint64_t to = (begin + memory.size() + page - 1) / page * page;
    if (auto use = cache_.acquire(from, to - from, only_mode)) {
      registration.use_ = *use;
      registration.kept_by_ = this;
      registration.region_ = reinterpret_cast<fid_mr*>(use->handle);
      return registration;
    }
  }
  // Memory that cannot be watched, or for which there is no room.
  auto own = endpoint_.register_memory(memory, FI_WRITE);
  if (!own) return std::move(own).error();
  registration.own_ = std::move(*own);
  registration.region_ = registration.own_.get();
  return registration;
}

Result<fabric::Registered> LocalMemory::enter(std::uint64_t address, std::uint64_t bytes,
                                              fabric::MemoryMode /*mode*/) {
  // Watched first: a change in between is one too many, and no stale region.
  if (auto watched = monitor_->watch(address, bytes); !watched) return std::move(watched).error();
  const auto* const begin = reinterpret_cast<const std::byte*>(address);
  auto registration = endpoint_.register_memory({begin, bytes}, FI_WRITE);
  if (!registration) return std::move(registration).error();
  return fabric::Registered{reinterpret_cast<std::uintptr_t>(registration->release()), only_mode};
}

void LocalMemory::remove(std::uint64_t handle) {
  MemoryRegistration(reinterpret_cast<fid_mr*>(handle)).reset();
}

}  // namespace weft::ofi
