// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/board.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/copy.hpp"

namespace weft::mpi {

void Board::arrive(std::uint64_t word, std::span<const std::byte> values, int core) {
  WEFT_CHECK(values.size() <= most_bytes);
  ++meeting_;
  word_ = word;
  bytes_ = values.size();
  stride_ = (bytes_ + alignof(std::max_align_t) - 1) & ~(alignof(std::max_align_t) - 1);
  complete_ = 0;
  has_one_word_ = true;
  if (!values.empty()) {
    copy_bytes(values_of(self_, values.size()), values.data(), values.size());
  }
  own().words[turn()].store(word, std::memory_order_relaxed);
  move_to(core);
  // Before any look at the others: of two members one sees the other.
  own().meeting.exchange(meeting_);
}

Board::Sight Board::look(int core) {
  if (is_complete()) return Sight::complete;
  for (std::uint32_t i = complete_; i < members_; ++i) {
    if (slots_[i].core.load(std::memory_order_relaxed) == core && !has_arrived(i)) {
      return Sight::missing_here;
    }
  }
  return Sight::missing_elsewhere;
}

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

void Board::take(std::uint32_t member) {
  has_one_word_ = has_one_word_ && word_of(member) == word_;
  if (bytes_ > 0) copy_bytes(values(member), values_of(member, bytes_), bytes_);
}

std::uint32_t Board::find_other_word() const {
  for (std::uint32_t i = 0; i < members_; ++i) {
    if (has_arrived(i) && word_of(i) != word_) return i;
  }
  return members_;
}

}  // namespace weft::mpi
