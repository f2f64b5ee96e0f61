// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/simulated_life.hpp"

#include <time.h>

#include <utility>

namespace weft {
namespace {

/// Returns the processor time of the thread that all simulated processes share.
std::int64_t processor_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

SimulatedLife::SimulatedLife(SimulatedRank& rank, std::unique_ptr<SpillMemory> spill,
                             const Program& program, std::span<const std::string> arguments)
    : HostedLife(rank), program_(program), arguments_(arguments), spill_(std::move(spill)) {}

int SimulatedLife::live() {
  JobDescription job = shared().job;
  job.self = rank_.self();
  job.incarnation = rank_.incarnation();
  Waiter& waiter = *this;
  messenger_ = std::make_unique<Messenger>(fabric(), waiter, message_options(job),
                                           outbox_room(job, *spill_));
  world_ = ProcessGroup::world(*messenger_, job.nodes);
  begun_ = now();
  return leave_with(run_in(*this, program_, arguments_), *this);
}

void SimulatedLife::begin_to_measure() {
  measured_from_ = processor_time_ns();
}

std::int64_t SimulatedLife::take_computed_ns() {
  const std::int64_t from = std::exchange(measured_from_, processor_time_ns());
  return measured_from_ - from;
}

Duration SimulatedLife::elapsed() const {
  // To look at the clock takes time, which the caller need not know of.
  return const_cast<SimulatedLife*>(this)->now() - begun_;
}

void SimulatedLife::compute(Duration time) {
  pay();
  // The measured time is part of the time that the program states.
  if (shared().scenario.programs.measure_compute || time <= Duration{}) return;
  pass(to_pico(time), times().computing);
}

void SimulatedLife::phase(std::string_view name) {
  pay();
  enter_phase(name);
}

Result<void> SimulatedLife::news(Instant) {
  if (!unwinding()) return {};
  return Error{ErrorCode::cancelled, "this process has been killed"};
}

Result<bool> SimulatedLife::may_begin() {
  if (incarnation() == Incarnation(1) || !shared().job.retain) return true;
  return messenger_->ask_to_begin();
}

Result<void> SimulatedLife::leave() {
  phase("leave");
  return messenger_->leave([this] {
    if (rank_.self() == NodeId(0)) shared().on_over();
  });
}

}  // namespace weft
