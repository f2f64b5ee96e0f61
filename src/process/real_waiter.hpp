// SPDX-License-Identifier: Apache-2.0
// RealWaiter: lets a real process wait. It spins for a moment and then sleeps (runtime/sleeper),
// and polls the sources of news meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "process/messenger.hpp"
#include "process/news_source.hpp"
#include "runtime/clock.hpp"
#include "runtime/company.hpp"
#include "runtime/sleeper.hpp"

namespace weft {

class RealWaiter final : public Waiter {
 public:
  /// `processes` is the number of processes of the job on this machine, and `place` this one's
  /// number among them, if it is known. Fabric and sources outlive this object.
  RealWaiter(unsigned processes, std::optional<std::uint32_t> place, Fabric& fabric,
             const std::vector<NewsSource*>& sources);

  Instant now() override { return *(recent_ = monotonic_now()); }
  std::optional<Instant> recently() override { return std::exchange(recent_, std::nullopt); }
  void busy(Instant now) override {
    if (idle_since_) waited_ += now - *std::exchange(idle_since_, std::nullopt);
    sleeper_.busy(now);
  }
  /// A look at shared memory costs a fraction of the rest of a turn, above all of reading the
  /// clock, so a turn looks often. On shared cores it looks once, as the awaited process may need
  /// the core.
  int looks_per_turn() const override { return shares_core_ ? 1 : 16; }
  void idle(Instant now, Fabric& fabric, Instant deadline) override;
  /// On shared cores a program that asks again and again gives way: what it asks for may have to
  /// come from a process without a core.
  void asked_in_vain() override;
  Result<void> news(Instant now) override;
  bool is_over() const override { return is_over_; }
  void miss(Instant now, NodeId peer) override;
  void stored(std::uint64_t place) override;
  /// Returns the total time of waits without progress: each lasts from the first turn that did
  /// nothing to the next one that did something.
  Duration waited() const { return waited_; }

 private:
  void follow_companion(Instant now, Fabric& fabric);

  std::optional<Instant> recent_;
  std::optional<Instant> idle_since_;
  Duration waited_{};
  Instant asked_{};         // the last time that was in vain
  int asked_in_a_row_ = 0;  // with little else in between
  bool shares_core_;
  Sleeper sleeper_;
  std::optional<Company> company_;  // where the core of a place matters
  Fabric& fabric_;
  struct Source {
    NewsSource* source;
    Instant next;  // when to poll it
  };
  std::vector<Source> sources_;
  Instant next_news_;     // when to poll the first source
  bool is_over_ = false;  // a source said that all programs are over
};

}  // namespace weft
