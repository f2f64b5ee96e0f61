// SPDX-License-Identifier: Apache-2.0
// FakeVerbs: an adapter of the test's own behind the calls of libibverbs. It defines those that the
// programs under test link to, and gives the context the operations that the header calls.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace weft::rdma {

/// One at a time. Fails the test when a region is deregistered that is not registered.
class FakeVerbs {
 public:
  struct Registration {
    std::uint64_t address = 0, bytes = 0;
    int access = 0;
    std::uint32_t key = 0;
  };
  struct Advice {
    ibv_pd* domain = nullptr;
    ibv_advise_mr_advice advice{};
    std::uint32_t flags = 0;
    std::vector<ibv_sge> ranges;
  };

  FakeVerbs();
  ~FakeVerbs();
  FakeVerbs(const FakeVerbs&) = delete;
  FakeVerbs& operator=(const FakeVerbs&) = delete;

  ibv_pd* domain() { return &domain_; }

  // Properties of the adapter.
  std::uint64_t general_paging = 0;     ///< ibv_odp_general_caps
  std::uint32_t connection_paging = 0;  ///< ibv_odp_transport_cap_bits of reliable connections
  int advice_result = 0;                ///< errno of ibv_advise_mr
  int registration_error = 0;           ///< errno of ibv_reg_mr

  // Calls that the adapter has seen.
  std::vector<Registration> registered;  ///< all there ever were, the latest at the end
  std::vector<Advice> advised;
  std::vector<std::uint32_t> deregistered;  ///< keys

  // For the calls.
  ibv_context* context() { return &verbs_.context; }
  ibv_mr* register_memory(void* address, std::size_t bytes, int access);
  int deregister(ibv_mr* region);

 private:
  verbs_context verbs_{};
  ibv_pd domain_{};
  std::map<const ibv_mr*, std::unique_ptr<ibv_mr>> regions_;
};

}  // namespace weft::rdma
