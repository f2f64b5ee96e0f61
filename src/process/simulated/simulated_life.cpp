// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/simulated_life.hpp"

#include <time.h>

#include <algorithm>
#include <utility>

namespace weft {
namespace {

/// The cost of a look at the clock. A program that polls the clock sees it advance.
constexpr PicoDuration look_at_clock = PicoDuration::nanoseconds(20);
/// A process pays the time that it owes when it waits, and when it owes this much.
constexpr PicoDuration most_owed = PicoDuration::microseconds(1);

/// Of the thread that all simulated processes share.
std::int64_t processor_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

SimulatedLife::SimulatedLife(SimulatedRank& rank, std::unique_ptr<SpillMemory> spill)
    : rank_(rank),
      spill_(std::move(spill)),
      fiber_(rank.shared_.scenario.programs.stack, [this] { run(); }) {}

void SimulatedLife::go_on() {
  if (rank_.shared_.scenario.programs.measure_compute) measured_from_ = processor_time_ns();
  fiber_.resume();
}

void SimulatedLife::run() {
  JobDescription job = rank_.shared_.job;
  job.self = rank_.self();
  job.incarnation = rank_.incarnation();
  Waiter& waiter = *this;
  messenger_ = std::make_unique<Messenger>(*rank_.fabric_, waiter, message_options(job),
                                           outbox_room(job, *spill_));
  world_ = Group::world(*messenger_, job.nodes);
  begun_ = now();
  code_ = run_in(*this, rank_.shared_.program, rank_.shared_.arguments);
  code_ = leave_with(code_, *this);
  pay();
}

/// Adds the host's processor time since the process went on, or since the last call.
void SimulatedLife::measure() {
  const sim::ProgramOptions& options = rank_.shared_.scenario.programs;
  if (!options.measure_compute) return;
  const std::int64_t until = processor_time_ns();
  const double ps = static_cast<double>(until - measured_from_) * 1e3 * options.compute_scale;
  owed_computing_ += PicoDuration(static_cast<std::int64_t>(ps));
  measured_from_ = until;
}

Instant SimulatedLife::now() {
  measure();
  owed_messaging_ += look_at_clock;
  if (owed_messaging_ + owed_computing_ >= most_owed) pay();
  return rank_.local_now();
}

Duration SimulatedLife::elapsed() const {
  // To look at the clock takes time, which the caller need not know of.
  return const_cast<SimulatedLife*>(this)->now() - begun_;
}

/// Lets all time pass that the processor has had work for.
void SimulatedLife::pay(PicoDuration at_least) {
  measure();
  const CountedFabric::Counts done = rank_.fabric_->take_counts();
  times().messages += done.posted;
  times().bytes += done.bytes;
  const auto handled = static_cast<std::int64_t>(done.posted + done.received);
  owed_messaging_ += rank_.shared_.scenario.network.host_overhead * handled;
  if (owed_computing_ > PicoDuration{}) {
    pass(std::exchange(owed_computing_, PicoDuration{}), times().computing);
  }
  const PicoDuration messaging = std::max(at_least, std::exchange(owed_messaging_, PicoDuration{}));
  if (messaging > PicoDuration{}) pass(messaging, times().messaging);
}

void SimulatedLife::pass(PicoDuration time, PicoDuration& account) {
  rank_.work_until(std::max(rank_.busy_until(), rank_.now()) + time);
  rank_.forget_wake();
  rank_.wake_at(rank_.busy_until());
  sleep(account);
}

void SimulatedLife::sleep(PicoDuration& account) {
  const PicoInstant from = rank_.now();
  fiber_.suspend();
  account += rank_.now() - from;
}

void SimulatedLife::idle(Instant, Fabric&, Instant deadline) {
  pay(least_turn);
  if (is_over()) return;  // it was told while it paid
  rank_.forget_wake();
  rank_.wake_at(rank_.clock().when(deadline));
  rank_.wake_at(rank_.ready_at());
  sleep(times().waiting);
}

void SimulatedLife::compute(Duration time) {
  pay();
  // The measured time is part of the time that the program states.
  if (rank_.shared_.scenario.programs.measure_compute || time <= Duration{}) return;
  pass(to_pico(time), times().computing);
}

void SimulatedLife::phase(std::string_view name) {
  pay();
  rank_.times_.enter(name);
}

Result<void> SimulatedLife::news(Instant) {
  if (!fiber_.unwinding()) return {};
  return Error{ErrorCode::cancelled, "this process has been killed"};
}

Result<bool> SimulatedLife::may_begin() {
  if (incarnation() == Incarnation(1) || !rank_.shared_.job.retain) return true;
  return messenger_->ask_to_begin();
}

Result<void> SimulatedLife::leave() {
  phase("leave");
  return messenger_->leave([this] {
    if (rank_.self() == NodeId(0)) rank_.shared_.on_over();
  });
}

}  // namespace weft
