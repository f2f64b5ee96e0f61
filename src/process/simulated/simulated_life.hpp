// SPDX-License-Identifier: Apache-2.0
// SimulatedLife: one simulated process, from its program's beginning to its end: the message layer
// of a real one over the simulated fabric, in a fiber that waits by letting the simulation go on.
#pragma once

#include <memory>

#include "process/group.hpp"
#include "process/job_options.hpp"
#include "process/joined_process.hpp"
#include "process/messenger.hpp"
#include "process/simulated/fiber.hpp"
#include "process/simulated/simulated_rank.hpp"

namespace weft {

class SimulatedLife final : public JoinedProcess, private Waiter {
 public:
  /// The rank outlives it. Throws std::bad_alloc when there is no memory for a stack.
  SimulatedLife(SimulatedRank& rank, std::unique_ptr<SpillMemory> spill);

  // From outside of the fiber.
  /// Until the process waits for something, or ends.
  void go_on();
  bool ended() const { return fiber_.ended(); }
  int code() const { return code_; }

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
  /// The time that a turn of the message layer takes: two processes cannot exchange messages in no
  /// time.
  static constexpr PicoDuration least_turn = PicoDuration::nanoseconds(100);

  // Waiter, from inside.
  Instant now() override;
  void busy(Instant) override { pay(least_turn); }
  void idle(Instant now, Fabric& fabric, Instant deadline) override;
  Result<void> news(Instant) override;
  bool is_over() const override { return rank_.shared_.over; }

  void run();
  void measure();
  void pay(PicoDuration at_least = {});
  void pass(PicoDuration time, PicoDuration& account);
  void sleep(PicoDuration& account);
  PhaseTimes& times() { return rank_.times_.current(); }

  SimulatedRank& rank_;
  std::unique_ptr<SpillMemory> spill_;
  std::unique_ptr<Messenger> messenger_;
  std::unique_ptr<Group> world_;
  Instant begun_{};
  PicoDuration owed_messaging_{};  // of the processor's time, which has not passed yet
  PicoDuration owed_computing_{};
  std::int64_t measured_from_ = 0;  // ns, of the host's processor
  int code_ = 0;
  Fiber fiber_;  // objects on its stack are destroyed first
};

}  // namespace weft
