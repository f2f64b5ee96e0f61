// SPDX-License-Identifier: Apache-2.0
// HugePages: an allocator for vectors of many records that are looked at in no order. Large ones
// begin at a boundary of 2 MiB, and the allocator asks the kernel for pages of that size: otherwise
// nearly every look at another record is one at the page tables too.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

namespace weft {

template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <class Other>
  HugePages(const HugePages<Other>&) {}  // NOLINT: as allocators have to

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    if (bytes < kLeast) return static_cast<T*>(::operator new (bytes, std::align_val_t{kAlign}));
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* memory = std::aligned_alloc(kPage, whole);
    if (memory == nullptr) throw std::bad_alloc();
    ::madvise(memory, whole, MADV_HUGEPAGE);  // if it cannot be had, all is only slower
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (count * sizeof(T) < kLeast) return ::operator delete (memory, std::align_val_t{kAlign});
    std::free(memory);
  }
  bool operator==(const HugePages&) const = default;

 private:
  static constexpr std::size_t kPage = std::size_t{2} << 20;
  static constexpr std::size_t kLeast = kPage;  // smaller ones have few pages of any size
  // A record of half a cache line lies in one.
  static constexpr std::size_t kAlign = 64;
  static_assert(alignof(T) <= kAlign);
};

template <class T>
using HugeVector = std::vector<T, HugePages<T>>;

}  // namespace weft
