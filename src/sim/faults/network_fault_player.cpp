// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/network_fault_player.hpp"

#include <numeric>
#include <utility>

#include "base/log.hpp"

namespace weft::sim {
namespace {

constexpr std::size_t most_played = 5'000;

std::vector<std::uint32_t> all_hosts(const World& world) {
  std::vector<std::uint32_t> hosts(world.topology().hosts());
  std::iota(hosts.begin(), hosts.end(), 0u);
  return hosts;
}

}  // namespace

NetworkFaultPlayer::NetworkFaultPlayer(World& world, std::vector<faults::Fault> faults)
    : NetworkFaults(world, all_hosts(world)),
      player_(std::move(faults), Instant()),
      agent_(world.agents().add(*this)) {
  set_timer();
}

void NetworkFaultPlayer::on_timer(std::uint16_t, std::uint64_t) {
  std::vector<faults::FaultPlayer::Played> played;
  const Instant now(world().engine().now().ticks() / 1'000);
  player_.play(now, *this, played);
  for (const auto& p : played) {
    spdlog::info("fault: {}", p.what);
    if (played_.size() < most_played) played_.push_back({now, p.what});
  }
  set_timer();
}

void NetworkFaultPlayer::set_timer() {
  const Instant at = player_.next_deadline();
  if (at != Instant::never()) world().agents().set_shared_timer(agent_, to_pico(at));
}

}  // namespace weft::sim
