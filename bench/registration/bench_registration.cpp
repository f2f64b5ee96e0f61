// SPDX-License-Identifier: Apache-2.0
// Question: what does a hit of the registration cache cost, taken and given back, with 1 to 4,096
// regions of 64 KiB in it, of all modes in turn, at one offset in each and anywhere in them? Limit:
// 50 ns. The competitor is mlock and munlock of a page: the least that registering memory with an
// adapter costs, which a hit saves.
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdio>

#include "fabric/registration/registration_cache.hpp"
#include "measuring.hpp"

namespace {

using weft::fabric::MemoryMode;
using weft::fabric::Registered;
using weft::fabric::RegistrationCache;

struct Nothing final : weft::fabric::Registrar {
  weft::Result<Registered> enter(std::uint64_t address, std::uint64_t, MemoryMode mode) override {
    return Registered{address, mode};
  }
  void remove(std::uint64_t) override {}
};

/// The median of many batches.
template <class Work>
double median_ns(Work&& work) {
  return weft::bench::median_ns(101, 20'000, work);
}

constexpr std::uint64_t region_bytes = 1 << 16;

/// Each third region is pinned, paged, prefetched.
MemoryMode mode_of(std::uint64_t region) {
  return static_cast<MemoryMode>(region % weft::fabric::memory_modes);
}

/// Pages as an application might have them: a random one each time.
double hit_ns(RegistrationCache& cache, std::uint64_t regions, bool anywhere) {
  std::uint64_t random = 1;
  return median_ns([&](int) {
    random = random * 6'364'136'223'846'793'005ULL + 1;
    const std::uint64_t region = (random >> 33) & (regions - 1);
    const std::uint64_t offset = anywhere ? (random >> 50) & (region_bytes - 4096 - 1) : 64;
    const auto use = cache.acquire((region + 1) * region_bytes + offset, 4096, mode_of(region));
    cache.release(*use);
  });
}

}  // namespace

int main() {
  Nothing nothing;
  for (const std::uint64_t regions : {1, 16, 256, 4096}) {
    RegistrationCache cache(nothing, {.bytes = std::uint64_t{1} << 40, .regions = 8192});
    for (std::uint64_t r = 0; r < regions; ++r) {
      cache.release(*cache.acquire((r + 1) * region_bytes, region_bytes, mode_of(r)));
    }
    std::printf("%5llu regions: %.1f ns at one offset, %.1f ns anywhere\n",
                static_cast<unsigned long long>(regions), hit_ns(cache, regions, false),
                hit_ns(cache, regions, true));
    if (cache.counters().misses != regions) return 1;
  }
  static std::array<char, 8192> page;
  const double ns = median_ns([](int i) {
    if (i % 20 != 0) return;  // a twentieth of the batch, or it takes long
    ::mlock(page.data(), page.size());
    ::munlock(page.data(), page.size());
  });
  std::printf("mlock and munlock: %.1f ns\n", ns * 20);
  return 0;
}
