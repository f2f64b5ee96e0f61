// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/board.hpp"

#include <algorithm>

namespace weft::mpi {

std::uint32_t Board::members_on(int core) const {
  return static_cast<std::uint32_t>(std::count_if(slots_, slots_ + members_, [&](const Slot& slot) {
    return slot.core.load(std::memory_order_relaxed) == core;
  }));
}

bool Board::is_last_on(int core) const {
  return std::none_of(slots_ + self_ + 1, slots_ + members_, [&](const Slot& slot) {
    return slot.core.load(std::memory_order_relaxed) == core;
  });
}

std::uint32_t Board::find_other_word() const {
  for (std::uint32_t i = 0; i < members_; ++i) {
    if (has_arrived(i) && word_of(i) != word_) return i;
  }
  return members_;
}

}  // namespace weft::mpi
