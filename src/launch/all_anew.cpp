// SPDX-License-Identifier: Apache-2.0
#include "launch/all_anew.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "process/keeping_watch.hpp"

namespace weft {

void AllAnew::cannot_keep(std::uint32_t rank, const std::string& text) {
  if (text.empty()) return;
  const bool is_urgent = text[0] == static_cast<char>(KeepingWatch::Kind::memory);
  if (!pending_ || (is_urgent && !pending_->is_urgent)) {
    pending_ = {rank, is_urgent, text.substr(1)};
  }
}

std::optional<std::string> AllAnew::go_over(RankLives& lives) {
  if (!pending_ || lives.restarts_all() || !lives.have_all_joined()) return std::nullopt;
  if (!pending_->is_urgent && input_.may_have_been_read()) return std::nullopt;
  lives.restart_all_from_now();
  return fmt::format(
      "rank {} {}: from now on no messages are kept, and all ranks restart when one is killed",
      pending_->rank, pending_->why);
}

std::optional<std::string> AllAnew::begin_from_nothing(std::uint32_t rank, RankLives& lives,
                                                       std::string why) {
  lives.restart_all_from_now();
  said_ = rank;
  const bool is_first = attempt_ == 0;
  attempt_ = std::max(attempt_, 1u);
  if (!is_first) return std::nullopt;
  // What the program should do is advice for those whose job ends.
  why = why.substr(0, why.find("; a program that is started anew"));
  return why + ": all ranks restart from the beginning, and repeat nothing";
}

bool AllAnew::on_start(std::uint32_t rank, const RankLives& lives) {
  if (attempt_ > 0) ++attempt_;
  const bool reads_again = rank == 0 || lives.restarts_all();
  return !reads_again || !input_.may_have_been_read();
}

}  // namespace weft
