// SPDX-License-Identifier: Apache-2.0
// Question: what does a hit of the registration cache cost, taken and given back, with 1 to 4,096
// regions of 64 KiB in it, of all modes in turn, at one offset in each and anywhere in them? Limit:
// 50 ns. The competitor is mlock and munlock of a page: the least that registering memory with an
// adapter costs, which a hit saves.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "fabric/registration/registration_cache.hpp"

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

double now_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// The median of many batches.
template <class F>
double median_ns(F&& f) {
  constexpr int batches = 101, of = 20'000;
  std::vector<double> times;
  for (int b = 0; b < batches; ++b) {
    const double start = now_ns();
    for (int i = 0; i < of; ++i) f(i);
    times.push_back((now_ns() - start) / of);
  }
  std::nth_element(times.begin(), times.begin() + batches / 2, times.end());
  return times[batches / 2];
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
