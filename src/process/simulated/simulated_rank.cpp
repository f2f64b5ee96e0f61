// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/simulated_rank.hpp"

#include <new>

#include "process/job_options.hpp"
#include "process/simulated/hosted_life.hpp"
#include "sim/fabric/sim_endpoint.hpp"

namespace weft {

SimulatedRank::SimulatedRank(ProgramPlace& shared, const sim::ProcessPlace& place)
    : HostedProcess(place), shared_(shared), times_("program") {}

SimulatedRank::~SimulatedRank() {
  SimulatedRank::close();
}

void SimulatedRank::open() {
  begin_life();
  fabric_ = std::make_unique<CountedFabric>(hub().open(self(), incarnation(), [this] {
    ++calls_;
    if (life_ != nullptr) wake_at(ready_at());
  }));
}

Result<void> SimulatedRank::begin() {
  auto spill = open_spill(shared_.job);
  if (!spill) return std::move(spill).error();
  try {
    life_ = shared_.make_life(*this, std::move(spill).value());
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::exhausted,
                 "there is no memory for the stacks of so many processes; use a smaller "
                 "programs.stack, or raise the limits (ulimit -v, vm.max_map_count)"};
  }
  wake_at(now());
  return {};
}

void SimulatedRank::close() {
  if (fabric_ != nullptr) fabric_->silence();
  life_.reset();
  fabric_.reset();
}

const HostedLife* SimulatedRank::waiting() const {
  return alive() && !paused() && life_ != nullptr && life_->waits() ? life_.get() : nullptr;
}

PicoInstant SimulatedRank::ready_at() const {
  return static_cast<const sim::SimEndpoint&>(fabric_->inner()).ready_at();
}

void SimulatedRank::turn() {
  life_->resume();
  if (!life_->ended()) return;
  const int code = life_->code();
  end_life();
  shared_.on_end(self(), code);
}

}  // namespace weft
