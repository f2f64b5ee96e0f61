// SPDX-License-Identifier: Apache-2.0
#include "testbed/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/make_error.hpp"
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
// A host never drops its own packets: its sockets wait.
constexpr ByteCount kHostQueue = ByteCount::mib(4);

std::string hardware_address(std::uint32_t host) {
  return fmt::format("02:77:65:66:74:{:02x}", host + 1);
}

// Two frames, or the bytes of 100 µs: enough for timers that are late by that much.
std::uint64_t burst(const TestbedOptions& options, Bandwidth rate) {
  return std::max<std::uint64_t>(2 * (options.mtu + kEthernetHeader),
                                 rate.bytes_per_second() / 10'000);
}

// Returns the minor number of a level's class; 1 is that of the port.
constexpr std::size_t level_minor(std::size_t level) {
  return 16 + level;
}

std::string token_bucket(const TestbedOptions& options, const std::string& device, Bandwidth rate,
                         ByteCount limit) {
  return fmt::format("qdisc replace dev {} root handle 1: tbf rate {}bps burst {} limit {}\n",
                     device, rate.bytes_per_second(), burst(options, rate), limit.value());
}

// A class takes its turns by its weight, in each enough bytes to make frames of any size worth a
// turn; its guaranteed rate, the least that tc allows, is as good as nothing.
std::string level_class(const TestbedOptions& options, const char* verb, const std::string& device,
                        Bandwidth rate, std::size_t level, std::uint8_t weight) {
  constexpr unsigned least_rate = 8;  // bytes per second
  const std::uint64_t frame = options.mtu + kEthernetHeader;
  return fmt::format(
      "class {} dev {} parent 1:1 classid 1:{:x} htb rate {}bps ceil {}bps burst {} cburst {} "
      "quantum {}\n",
      verb, device, level_minor(level), least_rate, rate.bytes_per_second(), frame,
      burst(options, rate), weight * frame);
}

// One queue for each level, and turns by their weights among those that have packets.
std::string level_queues(const TestbedOptions& options, const std::string& device, Bandwidth rate) {
  // Another kind first: in place of itself htb would keep its classes.
  std::string text = fmt::format(
      "qdisc replace dev {0} root handle 2: bfifo limit {4}\n"
      "qdisc replace dev {0} root handle 1: htb default {1:x}\n"
      "class add dev {0} parent 1: classid 1:1 htb rate {2}bps ceil {2}bps burst {3} cburst {3} "
      "quantum {5}\n",
      device, level_minor(0), rate.bytes_per_second(), burst(options, rate), options.queue.value(),
      options.mtu + kEthernetHeader);
  auto out = std::back_inserter(text);
  for (std::size_t l = 0; l < options.levels.size(); ++l) {
    text += level_class(options, "add", device, rate, l, options.levels[l].weight);
    fmt::format_to(out, "qdisc add dev {} parent 1:{:x} bfifo limit {}\n", device, level_minor(l),
                   options.queue.value());
    if (l == 0) continue;  // by default
    fmt::format_to(out,
                   "filter add dev {} parent 1: protocol ip prio 1 u32 match ip dsfield {:#x} 0xfc "
                   "flowid 1:{:x}\n",
                   device, options.levels[l].dscp << 2, level_minor(l));
  }
  return text;
}

std::string switch_port_queue(const TestbedOptions& options, const std::string& device,
                              Bandwidth rate) {
  if (rate == Bandwidth{}) return {};
  return options.levels.empty() ? token_bucket(options, device, rate, options.queue)
                                : level_queues(options, device, rate);
}

// Hosts of the first switch, where there are two.
std::uint32_t first_half(const TestbedOptions& options) {
  return options.uplink == Bandwidth{} ? options.hosts : options.hosts / 2;
}

bool is_possible_rate(Bandwidth rate) {
  return rate == Bandwidth{} || (rate >= kSlowest && rate <= kFastest);
}

Error impossible(std::string_view option, const std::string& value, std::string_view range) {
  return invalid("{} {}: {}", option, value, range);
}

Result<void> check_levels(const std::vector<LevelClass>& levels) {
  if (levels.size() > kMostLevels) {
    return impossible("--levels", std::to_string(levels.size()), "must be at most 16 weights");
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (levels[i].weight == 0) return impossible("--levels", "0", "a weight must be 1 to 255");
    const auto same = [&](const LevelClass& other) { return other.dscp == levels[i].dscp; };
    if (levels[i].dscp > 63 || std::ranges::count_if(levels, same) > 1) {
      return impossible("--levels: DSCP", std::to_string(levels[i].dscp),
                        "must be 0 to 63, and of one level");
    }
  }
  return {};
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
  if (!is_possible_rate(options.link)) {
    return impossible("--link", to_text(options.link), "must be 64kbit to 100Gbit, or 0");
  }
  if (!is_possible_rate(options.uplink)) {
    return impossible("--uplink", to_text(options.uplink), "must be 64kbit to 100Gbit, or 0");
  }
  if (options.uplink != Bandwidth{} && options.hosts < 2) {
    return impossible("--uplink", to_text(options.uplink), "two switches need --hosts 2 or more");
  }
  if (auto good = check_levels(options.levels); !good.ok()) return good;
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
  if (options.uplink != Bandwidth{}) {
    fmt::format_to(out,
                   "link add br1 type bridge stp_state 0 forward_delay 0 mcast_snooping 0\n"
                   "link set br1 mtu {0} up\n"
                   "link add u0 mtu {0} type veth peer name u1 mtu {0}\n"
                   "link set u0 master br0 up\n"
                   "link set u1 master br1 up\n",
                   options.mtu);
  }
  for (std::uint32_t host = 0; host < options.hosts; ++host) {
    fmt::format_to(out,
                   "link add {0} mtu {1} type veth peer name eth0 mtu {1} address {2} netns {3}\n"
                   "link set {0} master {4} up\n",
                   port_name(host), options.mtu, hardware_address(host), host_namespace(host),
                   host < first_half(options) ? "br0" : "br1");
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
  return switch_port_queue(options, port_name(host), rate);
}

std::string uplink_queues(const TestbedOptions& options) {
  return switch_port_queue(options, "u0", options.uplink) +
         switch_port_queue(options, "u1", options.uplink);
}

std::string change_weights(const TestbedOptions& options, std::span<const std::uint8_t> weights) {
  std::string text;
  const auto change = [&](const std::string& device, Bandwidth rate) {
    if (rate == Bandwidth{}) return;
    for (std::size_t l = 0; l < options.levels.size(); ++l) {
      text += level_class(options, "change", device, rate, l, weights[l]);
    }
  };
  for (std::uint32_t host = 0; host < options.hosts; ++host) {
    change(port_name(host), options.link);
  }
  change("u0", options.uplink);
  change("u1", options.uplink);
  return text;
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
