// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/simulated_rank.hpp"

#include <algorithm>
#include <new>

#include "process/simulated/simulated_life.hpp"
#include "sim/fabric/sim_endpoint.hpp"

namespace weft {
namespace {

constexpr std::uint16_t noise_timer = 0;

}  // namespace

SimulatedRank::SimulatedRank(ProgramPlace& place, NodeId self, std::uint32_t host,
                             sim::NodeClock clock, Rng noise)
    : place_(place),
      self_(self),
      host_(host),
      agent_(place.agents.add(*this)),
      clock_(clock),
      noise_(noise),
      times_("program") {
  draw_noise();
}

SimulatedRank::~SimulatedRank() {
  close();
}

void SimulatedRank::open() {
  ++incarnation_;
  paused_ = false;
  next_wake_ = PicoInstant::never();
  fabric_ = std::make_unique<CountedFabric>(place_.hub.open(self_, incarnation_, [this] {
    ++calls_;
    if (life_ != nullptr) wake_at(ready_at());
  }));
}

Result<void> SimulatedRank::begin() {
  auto spill = open_spill(place_.job);
  if (!spill) return std::move(spill).error();
  try {
    life_ = std::make_unique<SimulatedLife>(*this, std::move(spill).value());
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::exhausted,
                 "there is no memory for the stacks of so many processes; use a smaller "
                 "programs.stack, or raise vm.max_map_count"};
  }
  wake_at(now());
  return {};
}

void SimulatedRank::close() {
  if (fabric_ != nullptr) fabric_->silence();
  life_.reset();
  fabric_.reset();
}

void SimulatedRank::kill() {
  close();
  paused_ = false;
  place_.hub.set_reachable(self_, true);
}

void SimulatedRank::pause() {
  paused_ = true;
  place_.hub.set_reachable(self_, false);
}

void SimulatedRank::resume() {
  if (!paused_) return;
  paused_ = false;
  place_.hub.set_reachable(self_, true);
  next_wake_ = PicoInstant::never();
  wake_at(now());
}

void SimulatedRank::jump_clock(Duration by) {
  clock_.jump(by);
  wake_at(now());
}

PicoInstant SimulatedRank::ready_at() const {
  return static_cast<const sim::SimEndpoint&>(fabric_->inner()).ready_at();
}

void SimulatedRank::wake_at(PicoInstant at) {
  if (life_ == nullptr || paused_ || at == PicoInstant::never()) return;
  at = std::max({at, busy_until_, now()});
  if (at >= next_wake_) return;
  next_wake_ = at;
  place_.agents.set_wake(agent_, host_, at);
}

void SimulatedRank::on_wake() {
  // One that was moved to an earlier time, or is of a former life, is over.
  if (life_ == nullptr || paused_ || now() != next_wake_) return;
  next_wake_ = PicoInstant::never();
  if (busy_until_ > now()) return wake_at(busy_until_);
  place_.agents.engine().count_wake();
  life_->go_on();
  if (!life_->ended()) return;
  const int code = life_->code();
  close();
  place_.on_end(self_, code);
}

void SimulatedRank::on_timer(std::uint16_t, std::uint64_t) {
  const double mean = static_cast<double>(to_pico(place_.scenario.noise.mean).ticks());
  busy_until_ = std::max(busy_until_, now()) +
                PicoDuration(static_cast<std::int64_t>(noise_.exponential(mean)));
  draw_noise();
}

void SimulatedRank::draw_noise() {
  if (place_.scenario.noise.every == Duration{}) return;
  const double mean = static_cast<double>(to_pico(place_.scenario.noise.every).ticks());
  const PicoDuration until(1 + static_cast<std::int64_t>(noise_.exponential(mean)));
  place_.agents.set_timer(agent_, host_, std::max(now(), busy_until_) + until, noise_timer);
}

}  // namespace weft
