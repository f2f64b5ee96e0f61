// SPDX-License-Identifier: Apache-2.0
#include "sim/run/stuck.hpp"

#include <array>
#include <utility>

#include "base/make_error.hpp"
#include "sim/partition/exchange.hpp"
#include "sim/run/world.hpp"

namespace weft::sim {
namespace {

constexpr PicoDuration first_look = PicoDuration::microseconds(100);
/// No packet takes longer for a hop, even over the slowest link that a scenario can have.
constexpr PicoDuration longest_hop = PicoDuration::seconds(10);
/// Traffic that is left in the queues of a busy network takes long to simulate: enough to see that
/// it moves.
constexpr std::uint64_t enough_hops = 1u << 18;

Error never_move(std::uint64_t packets) {
  return make_error(ErrorCode::unavailable,
                    "{} packets are left in the network and can never move, though no link is "
                    "down: they wait for each other; use another router",
                    packets);
}

}  // namespace

Result<void> check_arrival(std::uint64_t sent, std::uint64_t delivered, std::uint32_t links_down) {
  if (delivered == sent || links_down > 0) return {};
  return make_error(ErrorCode::unavailable,
                    "{} of {} messages never arrive, though no link is down: their packets wait "
                    "for each other; use another router",
                    sent - delivered, sent);
}

Result<void> check_standstill(const Network& network) {
  if (network.at_rest() || network.links_down() > 0) return {};
  return never_move(network.packets_in_flight());
}

Result<void> check_rest(const Network& network, Exchange& exchange,
                        const std::function<void(PicoDuration)>& run_for) {
  std::uint64_t first_hops = 0, hops_before = 0;
  for (PicoDuration step{};; step = step == PicoDuration{} ? first_look : step * 2) {
    if (step != PicoDuration{}) run_for(step);
    std::array<std::uint64_t, 3> seen{network.at_rest() ? 0u : 1u, network.packet_hops(),
                                      network.packets_in_flight()};
    exchange.sum(seen);
    const auto [busy, hops, packets] = seen;
    if (step == PicoDuration{}) first_hops = hops;
    if (busy == 0 || network.links_down() > 0 || hops - first_hops > enough_hops) return {};
    if (hops == std::exchange(hops_before, hops) && step >= longest_hop) {
      return never_move(packets);
    }
  }
}

Result<void> check_rest(World& world, Exchange& exchange) {
  for (const auto& traffic : world.traffic()) traffic->stop();
  return check_rest(world.network(), exchange,
                    [&](PicoDuration step) { world.run_until(world.engine().now() + step); });
}

}  // namespace weft::sim
