// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/seen_window.hpp"

#include <algorithm>

namespace weft {

SeenWindow::Answer SeenWindow::see(std::uint64_t index) {
  if (empty_) {
    // Earlier ones may still follow the very first, a little out of order.
    begin_ = index - std::min(index, size_ / 2);
    empty_ = false;
  }
  if (index < begin_) return Answer::too_old;
  if (index - begin_ >= size_) {
    const std::uint64_t begin = index - size_ + 1;
    if (begin - begin_ >= size_) {
      std::fill(bits_.begin(), bits_.end(), 0);
    } else {
      for (std::uint64_t i = begin_; i < begin; ++i) {
        bits_[i % size_ / 64] &= ~(std::uint64_t{1} << (i % 64));
      }
    }
    begin_ = begin;
  }
  std::uint64_t& word = bits_[index % size_ / 64];
  const std::uint64_t mask = std::uint64_t{1} << (index % 64);
  if ((word & mask) != 0) return Answer::seen;
  word |= mask;
  return Answer::fresh;
}

}  // namespace weft
