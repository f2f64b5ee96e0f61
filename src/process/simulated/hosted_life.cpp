// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/hosted_life.hpp"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

/// The cost of a look at the clock. A program that polls the clock sees it advance.
constexpr PicoDuration cost_of_look = PicoDuration::nanoseconds(20);
/// A process pays the time that it owes when it waits, and when it owes this much.
constexpr PicoDuration most_owed = PicoDuration::microseconds(1);

}  // namespace

HostedLife::HostedLife(SimulatedRank& rank)
    : rank_(rank),
      quiet_since_(rank.now()),
      quiet_at_last_wait_(rank.now()),
      fiber_(rank.shared_.scenario.programs.stack, [this] {
        code_ = live();
        pay();
      }) {}

void HostedLife::resume() {
  if (shared().scenario.programs.measure_compute) begin_to_measure();
  fiber_.resume();
}

/// Adds the host's processor time since the process went on, or since the last call.
void HostedLife::measure() {
  const sim::ProgramOptions& options = shared().scenario.programs;
  if (!options.measure_compute) return;
  const double ps = static_cast<double>(take_computed_ns()) * 1e3 * options.compute_scale;
  owed_computing_ += PicoDuration(static_cast<std::int64_t>(ps));
}

Instant HostedLife::look_at_clock() {
  measure();
  owed_messaging_ += cost_of_look;
  if (owed_messaging_ + owed_computing_ >= most_owed) pay();
  return rank_.local_now();
}

void HostedLife::pay(PicoDuration at_least) {
  measure();
  const CountedFabric::Counts done = fabric().take_counts();
  times().messages += done.posted;
  times().bytes += done.bytes;
  if (done.posted + done.received > 0) quiet_since_ = rank_.now();
  const auto handled = static_cast<std::int64_t>(done.posted + done.received);
  owed_messaging_ += shared().scenario.network.host_overhead * handled;
  if (owed_computing_ > PicoDuration{}) {
    pass(std::exchange(owed_computing_, PicoDuration{}), times().computing);
  }
  const PicoDuration messaging = std::max(at_least, std::exchange(owed_messaging_, PicoDuration{}));
  if (messaging > PicoDuration{}) pass(messaging, times().messaging);
}

void HostedLife::pass(PicoDuration time, PicoDuration& account) {
  rank_.work_until(std::max(rank_.busy_until(), rank_.now()) + time);
  rank_.forget_wake();
  rank_.wake_at(rank_.busy_until());
  sleep(account);
}

void HostedLife::sleep(PicoDuration& account) {
  const PicoInstant from = rank_.now();
  fiber_.suspend();
  account += rank_.now() - from;
}

void HostedLife::wait_until(Instant deadline, News news) {
  pay(least_turn);
  if (news == News::is_none) quiet_since_ = quiet_at_last_wait_;
  quiet_at_last_wait_ = quiet_since_;
  if (shared().over) return;  // it was told while it paid
  rank_.forget_wake();
  rank_.wake_at(rank_.clock().when(deadline));
  rank_.wake_at(rank_.ready_at());
  waits_ = true;
  sleep(times().waiting);
  waits_ = false;
}

}  // namespace weft
