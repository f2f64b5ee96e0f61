// SPDX-License-Identifier: Apache-2.0
#include "launch/all_anew.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft {

std::optional<std::string> AllAnew::go_over(RankLives& lives) {
  if (!pending_ || lives.restarts_all() || !lives.have_all_joined()) return std::nullopt;
  if (input_.may_have_been_read()) return std::nullopt;
  lives.restart_all_from_now();
  return fmt::format(
      "rank {} {}: from now on no messages are kept, and all ranks start anew when one is killed",
      pending_->first, pending_->second);
}

std::optional<std::string> AllAnew::begin_from_nothing(RankLives& lives, const std::string& why) {
  lives.restart_all_from_now();
  const bool is_first = attempt_ == 0;
  attempt_ = std::max(attempt_, 1u);
  if (!is_first) return std::nullopt;
  return why + ": all ranks begin again, and repeat nothing";
}

bool AllAnew::may_start(std::uint32_t rank, const RankLives& lives) {
  if (attempt_ > 0) ++attempt_;
  const bool reads_again = rank == 0 || lives.restarts_all();
  return !reads_again || !input_.may_have_been_read();
}

}  // namespace weft
