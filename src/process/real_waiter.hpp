// SPDX-License-Identifier: Apache-2.0
// RealWaiter: time as it passes. Spins for a moment and then sleeps (runtime/sleeper), and hears
// the launcher meanwhile.
#pragma once

#include "process/job_link.hpp"
#include "process/messenger.hpp"
#include "runtime/clock.hpp"
#include "runtime/sleeper.hpp"

namespace weft {

class RealWaiter final : public Waiter {
 public:
  /// `link`: null when nobody launched the process. Fabric and link outlive it.
  RealWaiter(Duration spin, Fabric& fabric, JobLink* link);

  Instant now() override { return monotonic_now(); }
  void busy(Instant now) override { sleeper_.busy(now); }
  void idle(Instant now, Fabric& fabric, Instant deadline) override;
  Result<void> news(Instant now) override;
  bool is_over() const override { return link_ != nullptr && link_->is_over(); }

 private:
  Sleeper sleeper_;
  Fabric& fabric_;
  JobLink* link_;
  Instant next_news_{};
};

}  // namespace weft
