// SPDX-License-Identifier: Apache-2.0
// DomainRegistrar: registers memory with a protection domain of libibverbs, pinned or paged on
// demand.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>

#include "fabric/registration/registration_cache.hpp"

namespace weft::rdma {

/// The handles are memory regions. The domain outlives it, and it all regions.
class DomainRegistrar final : public fabric::Registrar {
 public:
  struct Options {
    ibv_pd* domain = nullptr;
    int access = IBV_ACCESS_LOCAL_WRITE;  ///< ibv_access_flags, without that for paging
    bool has_paging = false;              ///< the device pages on demand for the needed operations
    std::string device;                   ///< its name, for messages
  };
  explicit DomainRegistrar(Options options) : options_(std::move(options)) {}

  /// Pinned where the device cannot page, paged where it cannot prefetch. Prefetching waits until
  /// the device knows the pages. Errors: `io`.
  Result<fabric::Registered> enter(std::uint64_t address, std::uint64_t bytes,
                                   fabric::MemoryMode mode) override;
  void remove(std::uint64_t handle) override;

 private:
  bool prefetch(const ibv_mr& region, std::uint64_t address, std::uint64_t bytes) const;

  const Options options_;
};

/// The region that a registrar's handle stands for.
const ibv_mr& region_of(std::uint64_t handle);

}  // namespace weft::rdma
