// SPDX-License-Identifier: Apache-2.0
#include "core/stream/roster.hpp"

#include <bit>

namespace weft::stream {

std::uint32_t IndexSet::rank(std::uint32_t i) const {
  WEFT_CHECK(i < size_);
  if (count_ == size_) return i;
  int total = 0;
  for (std::uint32_t w = 0; w < i / 64; ++w) total += std::popcount(word(w));
  const std::uint64_t below = (std::uint64_t{1} << (i % 64)) - 1;
  return static_cast<std::uint32_t>(total + std::popcount(word(i / 64) & below));
}

std::uint32_t IndexSet::nth(std::uint32_t n) const {
  if (count_ == size_ && n < size_) return n;
  for (std::uint32_t w = 0; w < words().size(); ++w) {
    std::uint64_t members = word(w);
    const auto here = static_cast<std::uint32_t>(std::popcount(members));
    if (n >= here) {
      n -= here;
      continue;
    }
    for (; n > 0; --n) members &= members - 1;
    return w * 64 + static_cast<std::uint32_t>(std::countr_zero(members));
  }
  WEFT_CHECK(false, "set of {} members has no {}-th", count(), n);
  return 0;
}

IndexSet& IndexSet::operator&=(const IndexSet& other) {
  WEFT_CHECK(size_ == other.size_);
  for (std::size_t w = 0; w < words().size(); ++w) assign_word(w, word(w) & other.word(w));
  return *this;
}

void IndexSet::assign_word(std::size_t w, std::uint64_t bits) {
  WEFT_CHECK(w < words().size());
  if (w + 1 == words().size() && size_ % 64 != 0) bits &= (std::uint64_t{1} << (size_ % 64)) - 1;
  count_ += static_cast<std::uint32_t>(std::popcount(bits));
  count_ -= static_cast<std::uint32_t>(std::popcount(word(w)));
  word(w) = bits;
}

}  // namespace weft::stream
