// SPDX-License-Identifier: Apache-2.0
#include "core/determinant/kept_numbers.hpp"

#include <algorithm>
#include <atomic>

namespace weft::determinant {
namespace {

void store_count(std::uint64_t& place, std::uint64_t value) {
  std::atomic_ref(place).store(value, std::memory_order_release);
}

}  // namespace

KeptNumbers::KeptNumbers(std::span<std::byte> memory)
    : header_(reinterpret_cast<std::uint64_t*>(memory.data()), 2),
      numbers_(reinterpret_cast<std::uint64_t*>(memory.data()) + 2, most) {}

void KeptNumbers::begin_again() {
  store_count(header_[1], header_[0]);
}

void KeptNumbers::begin_again_without() {
  store_count(header_[0], most + 1);
  begin_again();
}

// One more than there is room for: then some were lost.
void KeptNumbers::keep(std::uint64_t number) {
  if (has(number) || header_[0] > most) return;
  if (header_[0] < most) numbers_[header_[0]] = number;
  store_count(header_[0], header_[0] + 1);
}

std::size_t KeptNumbers::kept() const {
  return std::min<std::size_t>(header_[0], most);
}

std::size_t KeptNumbers::earlier() const {
  return std::min<std::size_t>(header_[1], most);
}

bool KeptNumbers::is_among(std::uint64_t number, std::size_t first) const {
  const auto end = numbers_.begin() + static_cast<std::ptrdiff_t>(first);
  return std::find(numbers_.begin(), end, number) != end;
}

}  // namespace weft::determinant
