// SPDX-License-Identifier: Apache-2.0
#include "testbed/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/units.hpp"
#include "testbed/keeper.hpp"

namespace weft::testbed {
namespace {

constexpr auto kSlowest = Bandwidth::bits_per_second(64'000);
constexpr auto kFastest = Bandwidth::bits_per_second(100'000'000'000);
constexpr auto kLargestQueue = ByteCount::gib(1);
constexpr Duration kLongestDelay = Duration::seconds(10);
constexpr Duration kLongestLife = Duration::seconds(7 * 24 * 3600);
constexpr std::uint64_t kEthernetHeader = 14;
// A host never drops what it sends itself: its sockets wait.
constexpr ByteCount kHostQueue = ByteCount::mib(4);

std::string hardware_address(std::uint32_t host) {
  return fmt::format("02:77:65:66:74:{:02x}", host + 1);
}

// Two frames, or what passes in 100 µs: enough for timers that are late by that much.
std::uint64_t burst(const TestbedOptions& options, Bandwidth rate) {
  return std::max<std::uint64_t>(2 * (options.mtu + kEthernetHeader),
                                 rate.bytes_per_second() / 10'000);
}

std::string token_bucket(const TestbedOptions& options, const std::string& device, Bandwidth rate,
                         ByteCount limit) {
  return fmt::format("qdisc replace dev {} root handle 1: tbf rate {}bps burst {} limit {}\n",
                     device, rate.bytes_per_second(), burst(options, rate), limit.value());
}

Error impossible(std::string_view option, const std::string& value, std::string_view range) {
  return {ErrorCode::invalid_argument, fmt::format("{} {}: {}", option, value, range)};
}

// "{ p0, p3 }", as nft writes a set.
std::string ports_of(const Drops& drops, std::uint32_t island) {
  std::string text = "{";
  for (std::uint32_t host = 0; host < drops.island.size(); ++host) {
    if (drops.island[host] != island) continue;
    text += fmt::format("{} {}", text.size() > 1 ? "," : "", port_name(host));
  }
  return text + " }";
}

}  // namespace

Result<void> check(const TestbedOptions& options) {
  if (options.hosts < 1 || options.hosts > kMostHosts) {
    return impossible("--hosts", std::to_string(options.hosts), "must be 1 to 64");
  }
  if (options.link != Bandwidth{} && (options.link < kSlowest || options.link > kFastest)) {
    return impossible("--link", to_text(options.link), "must be 64kbit to 100Gbit, or 0");
  }
  if (options.mtu < 1280 || options.mtu > 9000) {
    return impossible("--mtu", std::to_string(options.mtu), "must be 1280 to 9000");
  }
  if (options.queue < ByteCount(options.mtu + kEthernetHeader) || options.queue > kLargestQueue) {
    return impossible("--queue", to_text(options.queue),
                      fmt::format("must hold a frame of {} bytes and be at most 1GiB",
                                  options.mtu + kEthernetHeader));
  }
  if (options.delay < Duration{} || options.delay > kLongestDelay) {
    return impossible("--delay", to_text(options.delay), "must be 0 to 10s");
  }
  if (options.lifetime < Duration::seconds(1) || options.lifetime > kLongestLife) {
    return impossible("--lifetime", to_text(options.lifetime), "must be 1s to 10080min");
  }
  const bool plain = std::ranges::all_of(options.congestion_control, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!plain || options.congestion_control.size() > 15) {
    return impossible("--congestion-control", options.congestion_control,
                      "must be a name like cubic, reno or bbr");
  }
  return {};
}

std::string host_address(std::uint32_t host) {
  return fmt::format("10.77.0.{}", host + 1);
}

std::string port_name(std::uint32_t host) {
  return fmt::format("p{}", host);
}

std::string switch_links(const TestbedOptions& options) {
  std::string text =
      "link set lo up\n"
      "link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0\n";
  auto out = std::back_inserter(text);
  fmt::format_to(out, "link set br0 mtu {} up\n", options.mtu);
  for (std::uint32_t host = 0; host < options.hosts; ++host) {
    fmt::format_to(out,
                   "link add {0} mtu {1} type veth peer name eth0 mtu {1} address {2} netns {3}\n"
                   "link set {0} master br0 up\n",
                   port_name(host), options.mtu, hardware_address(host), host_namespace(host));
  }
  return text;
}

// Neighbours are written down, so that no lost request for one stalls a flow for a second.
std::string host_links(const TestbedOptions& options, std::uint32_t host) {
  std::string text = "link set lo up\n";
  auto out = std::back_inserter(text);
  fmt::format_to(out, "addr add {}/24 dev eth0\nlink set eth0 up\n", host_address(host));
  for (std::uint32_t peer = 0; peer < options.hosts; ++peer) {
    if (peer == host) continue;
    fmt::format_to(out, "neigh replace {} lladdr {} nud permanent dev eth0\n", host_address(peer),
                   hardware_address(peer));
  }
  return text;
}

std::string host_queue(const TestbedOptions& options, Bandwidth rate) {
  const bool limited = rate != Bandwidth{};
  std::string text = limited ? token_bucket(options, "eth0", rate, kHostQueue) : "";
  if (options.delay != Duration{}) {
    text += fmt::format("qdisc replace dev eth0 {} netem delay {}us limit 100000\n",
                        limited ? "parent 1:1 handle 10:" : "root handle 10:",
                        (options.delay.ticks() + 999) / 1000);
  }
  return text;
}

std::string port_queue(const TestbedOptions& options, std::uint32_t host, Bandwidth rate) {
  if (rate == Bandwidth{}) return {};
  return token_bucket(options, port_name(host), rate, options.queue);
}

std::string drop_rules(const Drops& drops) {
  std::string text =
      "table bridge weft\n"
      "delete table bridge weft\n"
      "table bridge weft {\n"
      " chain forward {\n"
      "  type filter hook forward priority 0; policy accept;\n";
  auto out = std::back_inserter(text);
  for (std::uint32_t host = 0; host < drops.loss.size(); ++host) {
    if (drops.loss[host] == 0) continue;
    // The largest bound that the comparison takes is one below its range.
    const auto share = drops.loss[host] < 1'000'000
                           ? fmt::format("numgen random mod 1000000 < {} ", drops.loss[host])
                           : std::string();
    for (const char* direction : {"iifname", "oifname"}) {
      fmt::format_to(out, "  {} \"{}\" {}drop\n", direction, port_name(host), share);
    }
  }
  const auto islands = drops.island.empty() ? 0u : *std::ranges::max_element(drops.island);
  for (std::uint32_t from = 1; from <= islands; ++from) {
    for (std::uint32_t to = 1; to <= islands; ++to) {
      if (from == to) continue;
      fmt::format_to(out, "  iifname {} oifname {} drop\n", ports_of(drops, from),
                     ports_of(drops, to));
    }
  }
  text += " }\n}\n";
  return text;
}

}  // namespace weft::testbed
