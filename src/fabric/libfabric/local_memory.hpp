// SPDX-License-Identifier: Apache-2.0
// LocalMemory: registrations of memory that this node writes from, where the provider asks for
// them: kept for the next time as long as the pages stay, or else made for each operation.
#pragma once

#include <memory>
#include <span>

#include "fabric/libfabric/endpoint.hpp"
#include "fabric/registration/memory_monitor.hpp"
#include "fabric/registration/registration_cache.hpp"

namespace weft::ofi {

class LocalMemory;

/// A registration in use, given back when it is destroyed.
class LocalRegistration {
 public:
  LocalRegistration() = default;
  LocalRegistration(LocalRegistration&& other) noexcept { *this = std::move(other); }
  LocalRegistration& operator=(LocalRegistration&& other) noexcept;
  LocalRegistration(const LocalRegistration&) = delete;
  LocalRegistration& operator=(const LocalRegistration&) = delete;
  ~LocalRegistration() { reset(); }

  explicit operator bool() const { return region_ != nullptr; }
  fid_mr* get() const { return region_; }
  void reset();

 private:
  friend class LocalMemory;
  fid_mr* region_ = nullptr;
  MemoryRegistration own_;          // made for this operation alone
  LocalMemory* kept_by_ = nullptr;  // or kept
  fabric::RegistrationCache::Use use_;
};

/// One thread, the endpoint's. The endpoint outlives it, and it all registrations.
class LocalMemory final : private fabric::Registrar {
 public:
  /// Without a monitor nothing is kept.
  LocalMemory(Endpoint& endpoint, std::unique_ptr<fabric::MemoryMonitor> monitor);

  Result<LocalRegistration> acquire(std::span<const std::byte> memory);
  bool keeps() const { return monitor_ != nullptr; }
  fabric::RegistrationCache::Counters counters() const { return cache_.counters(); }

 private:
  friend class LocalRegistration;
  Result<fabric::Registered> enter(std::uint64_t address, std::uint64_t bytes,
                                   fabric::MemoryMode mode) override;
  void remove(std::uint64_t handle) override;
  void forget_changes();

  Endpoint& endpoint_;
  std::unique_ptr<fabric::MemoryMonitor> monitor_;
  fabric::RegistrationCache cache_;
};

}  // namespace weft::ofi
