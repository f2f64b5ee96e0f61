// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/network_faults.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/make_error.hpp"

namespace weft::sim {

Result<void> NetworkFaults::set_link_up(std::uint32_t host, bool up) {
  world_.set_host_up(hosts_[host], up);
  return {};
}

Result<void> NetworkFaults::set_rate(std::uint32_t host, Bandwidth rate) {
  world_.set_host_rate(hosts_[host], rate);
  return {};
}

Result<void> NetworkFaults::set_loss(std::uint32_t host, std::uint32_t parts_per_million) {
  world_.set_host_loss(hosts_[host], parts_per_million);
  return {};
}

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

Result<void> check_fault(World& world, const faults::Fault& fault,
                         std::span<const std::uint32_t> hosts) {
  const auto refused = [&](const std::string& why) {
    return invalid("--fault '{}': {}", faults::to_text(fault), why);
  };
  std::vector<LinkId> links;
  std::string name = fault.cable;
  if (!fault.cable.empty()) {
    auto found = world.cables(fault.cable);
    if (!found) return refused(found.error().message);
    links = std::move(found).value();
  }
  if (fault.kind != faults::Fault::Kind::loss) return {};
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

}  // namespace weft::sim
