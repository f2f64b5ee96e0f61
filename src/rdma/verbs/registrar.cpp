// SPDX-License-Identifier: Apache-2.0
#include "rdma/verbs/registrar.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/make_error.hpp"

namespace weft::rdma {

using fabric::MemoryMode;
using fabric::Registered;

const ibv_mr& region_of(std::uint64_t handle) {
  return *reinterpret_cast<const ibv_mr*>(handle);
}

Result<Registered> DomainRegistrar::enter(std::uint64_t address, std::uint64_t bytes,
                                          MemoryMode mode) {
  const bool is_paged = mode != MemoryMode::pinned && options_.has_paging;
  const int access = options_.access | (is_paged ? IBV_ACCESS_ON_DEMAND : 0);
  ibv_mr* const region =
      ibv_reg_mr(options_.domain, reinterpret_cast<void*>(address), bytes, access);
  if (region == nullptr) {
    return make_error(ErrorCode::io, "{}: cannot register {} bytes (see ulimit -l): {}",
                      options_.device, bytes, std::strerror(errno));
  }
  const auto handle = reinterpret_cast<std::uint64_t>(region);
  if (!is_paged) return Registered{handle, MemoryMode::pinned};
  const bool is_there = mode == MemoryMode::prefetched && prefetch(*region, address, bytes);
  return Registered{handle, is_there ? MemoryMode::prefetched : MemoryMode::paged};
}

/// Whether the device took the advice, and has all pages.
bool DomainRegistrar::prefetch(const ibv_mr& region, std::uint64_t address,
                               std::uint64_t bytes) const {
  constexpr std::uint64_t longest = std::uint64_t{1} << 30;  // of a range; its length has 32 bits
  std::vector<ibv_sge> ranges;
  for (std::uint64_t done = 0; done < bytes; done += longest) {
    const auto length = static_cast<std::uint32_t>(std::min(bytes - done, longest));
    ranges.push_back({address + done, length, region.lkey});
  }
  return ibv_advise_mr(options_.domain, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
                       IBV_ADVISE_MR_FLAG_FLUSH, ranges.data(),
                       static_cast<std::uint32_t>(ranges.size())) == 0;
}

void DomainRegistrar::remove(std::uint64_t handle) {
  ibv_dereg_mr(reinterpret_cast<ibv_mr*>(handle));
}

}  // namespace weft::rdma
