// SPDX-License-Identifier: Apache-2.0
#include "sim/job/hosted_process.hpp"

#include <algorithm>

namespace weft::sim {

HostedProcess::HostedProcess(const ProcessPlace& place)
    : agents_(place.agents),
      hub_(place.hub),
      self_(place.self),
      host_(place.host),
      agent_(place.agents.add(*this)),
      clock_(place.clock),
      noise_options_(place.noise),
      noise_(place.rng) {
  // A process whose host is in another part has its noise there.
  if (hub_.is_here(self_)) draw_noise();
}

void HostedProcess::begin_life() {
  ++incarnation_;
  alive_ = true;
  paused_ = false;
  forget_wake();
}

void HostedProcess::end_life() {
  close();
  alive_ = false;
}

void HostedProcess::kill() {
  end_life();
  paused_ = false;
  hub_.set_reachable(self_, true);
}

void HostedProcess::pause() {
  paused_ = true;
  hub_.set_reachable(self_, false);
}

void HostedProcess::resume() {
  if (!paused_) return;
  paused_ = false;
  hub_.set_reachable(self_, true);
  forget_wake();
  wake_at(now());
}

void HostedProcess::jump_clock(Duration by) {
  clock_.jump(by);
  wake_at(now());
}

void HostedProcess::wake_at(PicoInstant at) {
  if (!can_work() || paused_ || at == PicoInstant::never()) return;
  at = std::max({at, busy_until_, now()});
  if (at >= next_wake_) return;
  next_wake_ = at;
  agents_.set_wake(agent_, host_, at);
}

void HostedProcess::on_wake() {
  // One that was moved to an earlier time, or is of a former life, is over.
  if (!can_work() || paused_ || now() != next_wake_) return;
  forget_wake();
  if (busy_until_ > now()) return wake_at(busy_until_);
  engine().count_wake();
  turn();
}

void HostedProcess::on_timer(std::uint16_t, std::uint64_t) {
  const double mean = static_cast<double>(to_pico(noise_options_.mean).ticks());
  busy_until_ = std::max(busy_until_, now()) +
                PicoDuration(static_cast<std::int64_t>(noise_.exponential(mean)));
  draw_noise();
}

void HostedProcess::draw_noise() {
  if (noise_options_.every == Duration{}) return;
  const double mean = static_cast<double>(to_pico(noise_options_.every).ticks());
  const PicoDuration until(1 + static_cast<std::int64_t>(noise_.exponential(mean)));
  set_timer(std::max(now(), busy_until_) + until, noise_timer);
}

}  // namespace weft::sim
