// SPDX-License-Identifier: Apache-2.0
// SimulatedLife: one simulated process of a program that is linked to weft, from the program's
// beginning to its end: the message layer of a real one over the simulated fabric, in a fiber that
// waits by letting the simulation go on.
#pragma once

#include <memory>

#include "process/job_options.hpp"
#include "process/joined_process.hpp"
#include "process/messenger.hpp"
#include "process/process_group.hpp"
#include "process/simulated/hosted_life.hpp"

namespace weft {

class SimulatedLife final : public HostedLife, public JoinedProcess, private Waiter {
 public:
  /// Rank and program outlive it. Throws std::bad_alloc when there is no memory for a stack.
  SimulatedLife(SimulatedRank& rank, std::unique_ptr<SpillMemory> spill, const Program& program,
                std::span<const std::string> arguments);
  ~SimulatedLife() override { unwind(); }

  // JoinedProcess, from inside.
  Communicator& world() override { return *world_; }
  Incarnation incarnation() const override { return rank_.incarnation(); }
  Duration elapsed() const override;
  void compute(Duration time) override;
  void phase(std::string_view name) override;
  Result<bool> may_begin() override;
  Result<void> leave() override;
  void fail(const std::string&) override {}

 private:
  // Waiter, from inside.
  Instant now() override { return look_at_clock(); }
  void busy(Instant) override { pay(least_turn); }
  void idle(Instant, Fabric&, Instant deadline) override { wait_until(deadline); }
  Result<void> news(Instant) override;
  bool is_over() const override { return shared().over; }

  int live() override;
  void begin_to_measure() override;
  std::int64_t take_computed_ns() override;

  const Program& program_;
  std::span<const std::string> arguments_;
  std::unique_ptr<SpillMemory> spill_;
  std::unique_ptr<Messenger> messenger_;
  std::unique_ptr<ProcessGroup> world_;
  Instant begun_{};
  std::int64_t measured_from_ = 0;  // ns, of the host's processor
};

}  // namespace weft
