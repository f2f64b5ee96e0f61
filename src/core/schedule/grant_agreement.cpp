// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_agreement.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace weft::schedule {
namespace {

/// More than half, so that a median between two numbers does not make it go to and fro; and a
/// share of large numbers.
constexpr double reluctance = 0.6;
constexpr double reluctant_share = 0.08;

}  // namespace

GrantAgreement::GrantAgreement(std::uint32_t computes_max)
    : wishes_(computes_max, Wish{0}), listeners_(computes_max) {
  sorted_.reserve(computes_max);
}

void GrantAgreement::restart(std::uint32_t computes) {
  wishes_.assign(std::min<std::size_t>(computes, wishes_.capacity()), Wish{0});
  listeners_.clear();
  heard_ = untold_ = 0;
  agreed_ = 0;
}

void GrantAgreement::on_wish(std::uint32_t compute, Wish wish) {
  if (compute >= wishes_.size()) return;
  wishes_[compute] = wish;
  // Once in a round of grants is often enough, and cheap.
  if (++heard_ < wishes_.size()) return;
  heard_ = 0;
  sorted_.clear();
  std::copy_if(wishes_.begin(), wishes_.end(), std::back_inserter(sorted_),
               [](Wish w) { return w != 0; });
  if (sorted_.empty()) return;
  const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>(sorted_.size() / 2);
  std::nth_element(sorted_.begin(), middle, sorted_.end());
  const double median = *middle / wish_unit;
  if (std::abs(median - agreed_) < std::max(reluctance, reluctant_share * agreed_)) return;
  agreed_ = static_cast<std::uint32_t>(std::max(1L, std::lround(median)));
  untold_ = 0;
}

void GrantAgreement::on_listener(std::uint32_t compute) {
  if (compute >= wishes_.size() || listeners_.full()) return;
  for (const Listener& l : listeners_.view()) {
    if (l.compute == compute) return;
  }
  listeners_.push_back({.compute = compute});
  untold_ = 0;
}

std::optional<std::uint32_t> GrantAgreement::take_untold() {
  if (agreed_ == 0) return std::nullopt;
  for (; untold_ < listeners_.size(); ++untold_) {
    Listener& listener = listeners_[untold_];
    if (listener.told == agreed_) continue;
    listener.told = agreed_;
    return listener.compute;
  }
  return std::nullopt;
}

}  // namespace weft::schedule
