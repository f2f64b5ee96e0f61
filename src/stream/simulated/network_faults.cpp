// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/network_faults.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/log.hpp"

namespace weft::stream {

Result<void> NetworkFaults::set_cable_up(std::string_view cable, bool up) {
  const auto links = world_.cables(cable);
  if (!links) return links.error();
  world_.set_up(*links, up);
  return {};
}

Result<void> NetworkFaults::set_cable_loss(std::string_view cable,
                                           std::uint32_t parts_per_million) {
  const auto links = world_.cables(cable);
  if (!links) return links.error();
  world_.set_loss(*links, parts_per_million);
  return {};
}

Result<void> NetworkFaults::set_cable_rate(std::string_view cable, Bandwidth rate) {
  const auto links = world_.cables(cable);
  if (!links) return links.error();
  world_.set_rate(*links, rate);
  return {};
}

NetworkFaultPlayer::NetworkFaultPlayer(sim::World& world, std::vector<testbed::Fault> faults)
    : NetworkFaults(world),
      player_(std::move(faults), Instant()),
      agent_(world.agents().add(*this)) {
  set_timer();
}

void NetworkFaultPlayer::on_timer(std::uint16_t, std::uint64_t) {
  std::vector<testbed::FaultPlayer::Played> played;
  const Instant now(world().engine().now().ticks() / 1'000);
  player_.play(now, *this, played);
  for (const auto& p : played) {
    spdlog::info("fault: {}", p.what);
    if (played_.size() < report::series_limit) played_.push_back({now, p.what});
  }
  set_timer();
}

void NetworkFaultPlayer::set_timer() {
  const Instant at = player_.next_deadline();
  if (at != Instant::never()) world().agents().set_shared_timer(agent_, to_pico(at));
}

Result<void> NetworkFaultPlayer::set_link_up(std::uint32_t host, bool up) {
  world().set_host_up(host, up);
  return {};
}

Result<void> NetworkFaultPlayer::set_rate(std::uint32_t host, Bandwidth rate) {
  world().set_host_rate(host, rate);
  return {};
}

Result<void> NetworkFaultPlayer::set_loss(std::uint32_t host, std::uint32_t parts_per_million) {
  world().set_host_loss(host, parts_per_million);
  return {};
}

Result<void> check_fault(sim::World& world, const testbed::Fault& fault,
                         std::span<const std::uint32_t> hosts) {
  const auto refused = [&](const std::string& why) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("--fault '{}': {}", testbed::to_text(fault), why)};
  };
  std::vector<sim::LinkId> links;
  std::string name = fault.cable;
  if (!fault.cable.empty()) {
    auto found = world.cables(fault.cable);
    if (!found) return refused(found.error().message);
    links = std::move(found).value();
  }
  if (fault.kind != testbed::Fault::Kind::loss) return {};
  if (fault.cable.empty()) {
    const std::uint32_t host = hosts[fault.host];
    const auto both = world.host_links(host);
    links.assign(both.begin(), both.end());
    name = world.topology().label(world.topology().host(host));
    std::erase(name, ' ');
  }
  if (world.are_lossy(links)) return {};
  return refused(fmt::format(
      "that link is not declared lossy; write lossy = [\"{}\"], or true, in [network]", name));
}

}  // namespace weft::stream
