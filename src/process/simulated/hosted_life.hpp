// SPDX-License-Identifier: Apache-2.0
// HostedLife: one life of a rank in a simulation, as a fiber, and the simulated time that it takes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "process/simulated/fiber.hpp"
#include "process/simulated/simulated_rank.hpp"

namespace weft {

class HostedLife {
 public:
  virtual ~HostedLife() = default;
  HostedLife(const HostedLife&) = delete;
  HostedLife& operator=(const HostedLife&) = delete;

  // From outside of the fiber.
  /// Until the process waits for something, or ends.
  void resume();
  bool ended() const { return fiber_.ended(); }
  int code() const { return code_; }
  /// Returns whether it waits for its fabric, or for a deadline.
  bool waits() const { return waits_; }
  /// Returns the call in which it waits, if that has a name.
  virtual std::string waits_in() const { return {}; }
  /// Returns when it last sent or received anything that brings a program on.
  PicoInstant quiet_since() const { return quiet_since_; }

 protected:
  /// The time that a turn of the message layer takes: two processes cannot exchange messages in no
  /// time.
  static constexpr PicoDuration least_turn = PicoDuration::nanoseconds(100);

  /// The rank outlives it. Throws std::bad_alloc when there is no memory for a stack.
  explicit HostedLife(SimulatedRank& rank);
  /// Derived classes call it first when they are destroyed: objects on the stack use them.
  void unwind() { fiber_.unwind(); }
  bool unwinding() const { return fiber_.unwinding(); }

  // From inside.
  /// The process's clock. A look at it takes time.
  Instant look_at_clock();
  /// The time that it shows, for nothing.
  Instant shown() const { return rank_.local_now(); }
  /// Lets all time pass that the processor has had work for.
  void pay(PicoDuration at_least = {});
  void pass(PicoDuration time, PicoDuration& account);
  /// Whether messages since the last wait may bring a program on.
  enum class News : bool { is_none, counts };
  /// Until the fabric has something, or `deadline` by the process's clock.
  void wait_until(Instant deadline, News news = News::counts);
  void enter_phase(std::string_view name) { rank_.times_.enter(name); }
  PhaseTimes& times() { return rank_.times_.current(); }
  CountedFabric& fabric() { return *rank_.fabric_; }
  ProgramPlace& shared() const { return rank_.shared_; }

  SimulatedRank& rank_;

 private:
  /// The whole life. Returns the process's exit code.
  virtual int live() = 0;
  /// Computing is measured from now on.
  virtual void begin_to_measure() {}
  /// Returns the processor time that the process used since the last call, in ns.
  virtual std::int64_t take_computed_ns() = 0;
  void measure();
  void sleep(PicoDuration& account);

  PicoDuration owed_messaging_{};  // of the processor's time, which has not passed yet
  PicoDuration owed_computing_{};
  PicoInstant quiet_since_{};
  PicoInstant quiet_at_last_wait_{};  // quiet_since_ then
  bool waits_ = false;
  int code_ = 0;
  Fiber fiber_;
};

}  // namespace weft
