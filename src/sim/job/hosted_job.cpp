// SPDX-License-Identifier: Apache-2.0
#include "sim/job/hosted_job.hpp"

#include <utility>

#include "base/make_error.hpp"
#include "base/rng.hpp"

namespace weft::sim {
namespace {

SimFabricOptions fabric_options(const Scenario& scenario, Duration peer_timeout) {
  SimFabricOptions o;
  o.copied_bytes = scenario.fabric.copied_bytes;
  o.header_bytes = scenario.fabric.header_bytes;
  o.acknowledgement = to_pico(scenario.fabric.acknowledgement);
  o.death_notice = to_pico(scenario.fabric.death_notice);
  o.notice_spread = to_pico(scenario.fabric.notice_spread);
  o.peer_timeout = to_pico(peer_timeout);
  if (const auto& reliable = scenario.fabric.reliable) {
    o.rc = RcOptions{.profile = reliable->device,
                     .adapter = reliable->adapter,
                     .dummy_after = reliable->dummy_after,
                     .sends_paged = reliable->sends_paged && !reliable->prefetch,
                     .seed = scenario.seed};
    o.prefetch = reliable->prefetch;
  }
  return o;
}

}  // namespace

HostedJob::HostedJob(World& world, std::vector<std::uint32_t> hosts, Duration peer_timeout)
    : NetworkFaults(world, std::move(hosts)),
      hub_(fabric_options(world.scenario(), peer_timeout), this->hosts(), world.network(),
           world.agents()) {}

std::optional<RcCounters> HostedJob::rc_counters() const {
  if (hub_.reliable() == nullptr) return std::nullopt;
  return hub_.reliable()->counters();
}

void HostedJob::tap_packets(std::uint32_t host, std::function<void(const RcTapped&)> tap) {
  if (hub_.reliable() != nullptr) hub_.reliable()->set_tap(host, std::move(tap));
}

ProcessPlace HostedJob::place_of(std::uint32_t node, std::uint32_t job) {
  const ClockOptions& clocks = world().scenario().clocks;
  Rng draw = Rng(world().scenario().seed).split(0xc10c).split(std::uint64_t{job} << 32 | node);
  const double offset = (2 * draw.uniform() - 1) * static_cast<double>(clocks.offset.ticks());
  const double drift = (2 * draw.uniform() - 1) * clocks.drift_per_million * 1000;
  return {.agents = world().agents(),
          .hub = hub_,
          .self = NodeId(node),
          .host = hosts()[node],
          .clock = NodeClock(Duration(static_cast<std::int64_t>(offset)),
                             static_cast<std::int64_t>(drift)),
          .noise = world().scenario().noise,
          .rng = draw.split(1)};
}

Result<void> HostedJob::check_alive(std::uint32_t node) {
  if (process(node).alive()) return {};
  return make_error(ErrorCode::unavailable, "node {} does not run", node);
}

Result<void> HostedJob::stop(std::uint32_t node) {
  if (auto good = check_alive(node); !good) return good;
  process(node).pause();
  return {};
}

Result<void> HostedJob::resume(std::uint32_t node) {
  if (auto good = check_alive(node); !good) return good;
  process(node).resume();
  return {};
}

Result<void> HostedJob::set_link_up(std::uint32_t node, bool up) {
  if (auto good = NetworkFaults::set_link_up(node, up); !good) return good;
  for (std::uint32_t other = 0; other < hosts().size(); ++other) {
    if (hosts()[other] == hosts()[node]) {
      hub_.set_reachable(NodeId(other), up && !process(other).paused());
    }
  }
  return {};
}

Result<void> HostedJob::jump_clock(std::uint32_t node, Duration by) {
  process(node).jump_clock(by);
  return {};
}

Result<void> HostedJob::set_partition(const std::vector<std::vector<std::uint32_t>>& groups) {
  hub_.set_partition(groups);
  return {};
}

}  // namespace weft::sim
