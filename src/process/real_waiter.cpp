// SPDX-License-Identifier: Apache-2.0
#include "process/real_waiter.hpp"

#include <sched.h>

#include <algorithm>

namespace weft {
namespace {

/// On shared cores, turns that yield cost the others next to nothing; but a sleeper has to be
/// woken, and processes that wait for it fall asleep meanwhile, too: with a sixth of this, programs
/// with small messages took twice as long in half of their runs.
constexpr Duration spin = Duration::microseconds(300);

/// A program that asks after a longer time computes meanwhile, and keeps its core.
constexpr Duration at_once = Duration::microseconds(5);
constexpr int asked_before_yield = 8;

}  // namespace

RealWaiter::RealWaiter(unsigned processes, std::optional<std::uint32_t> place, Fabric& fabric,
                       const std::vector<NewsSource*>& sources)
    : shares_core_(share_cores(processes)),
      sleeper_(shares_core_ ? spin : suitable_spin(processes), shares_core_),
      fabric_(fabric),
      next_news_(Instant::never()) {
  if (fabric.name().starts_with("shm")) {
    sleeper_.let_move();
    if (place) sleeper_.keep_to(*place);
    if (place && shares_core_) company_.emplace(*place);
  }
  if (fabric.name().starts_with("shaped")) sleeper_.be_punctual();
  for (NewsSource* source : sources) {
    sources_.push_back({.source = source, .next = Instant{}});
    next_news_ = Instant{};
    if (source->descriptor() >= 0) sleeper_.watch(source->descriptor());
  }
}

void RealWaiter::idle(Instant now, Fabric& fabric, Instant deadline) {
  if (!idle_since_) idle_since_ = now;
  for (const Source& s : sources_) {
    if (s.source->descriptor() < 0) deadline = std::min(deadline, s.next);
  }
  if (company_ && company_->is_due(now)) follow_companion(now, fabric);
  sleeper_.idle(now, fabric, deadline);
  for (Source& s : sources_) {
    // This source may have ended the sleep.
    if (s.source->descriptor() >= 0) s.next = std::min(s.next, now + s.source->period() / 8);
    next_news_ = std::min(next_news_, s.next);
  }
}

void RealWaiter::follow_companion(Instant now, Fabric& fabric) {
  std::optional<Company::Exchange> exchange;
  if (const auto companion = fabric.take_companion(company_->least_bytes(now))) {
    exchange = {.place = companion->peer.value(), .bytes = companion->bytes};
  }
  sleeper_.keep_to(company_->look(now, thread_processor_time(), exchange));
}

void RealWaiter::asked_in_vain() {
  if (!shares_core_) return;
  const Instant now = monotonic_now();
  asked_in_a_row_ = now - asked_ < at_once ? asked_in_a_row_ + 1 : 1;
  asked_ = now;
  if (asked_in_a_row_ <= asked_before_yield) return;
  ::sched_yield();
  asked_ = monotonic_now();
}

Result<void> RealWaiter::news(Instant now) {
  if (now < next_news_) return {};
  next_news_ = Instant::never();
  for (Source& s : sources_) {
    if (now >= s.next) {
      s.next = now + s.source->period();
      if (auto taken = s.source->take_news(fabric_); !taken) return taken;
      is_over_ = is_over_ || s.source->is_over();
    }
    next_news_ = std::min(next_news_, s.next);
  }
  return {};
}

void RealWaiter::miss(Instant now, NodeId peer) {
  for (const Source& s : sources_) s.source->miss(now, peer);
}

void RealWaiter::stored(std::uint64_t place) {
  for (const Source& s : sources_) s.source->stored(place);
}

}  // namespace weft
