// SPDX-License-Identifier: Apache-2.0
#include "sim/network/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/make_error.hpp"

namespace weft::sim {
namespace {

constexpr std::uint64_t giga = 1'000'000'000;
/// InfiniBand's bytes around a payload: local route header, base transport header, two CRCs.
constexpr std::uint32_t infiniband_header = 26;
/// Preamble, Ethernet header and CRC, gap, IPv4 and TCP with time stamps.
constexpr std::uint32_t ethernet_header = 90;

LinkOptions link(std::uint64_t bytes_per_second, std::int64_t latency_ns) {
  return {.rate = Bandwidth::bytes_per_second(bytes_per_second),
          .latency = PicoDuration::nanoseconds(latency_ns)};
}

NetworkOptions uniform(LinkOptions all) {
  NetworkOptions o;
  o.host_link = o.local_link = o.global_link = all;
  return o;
}

NetworkOptions aries() {
  NetworkOptions o;
  o.host_link = link(10 * giga, 10);
  o.local_link = link(5'250'000'000, 10);
  o.global_link = link(4'700'000'000, 100);
  o.mtu = 4096;
  o.buffer_bytes = 32 << 10;
  o.switch_delay = PicoDuration::nanoseconds(100);
  o.host_overhead = PicoDuration::nanoseconds(300);
  o.injection_gap = PicoDuration::nanoseconds(100);
  return o;
}

NetworkOptions infiniband(std::uint64_t bytes_per_second, std::int64_t switch_ns,
                          std::int64_t overhead_ns, std::int64_t gap_ns) {
  NetworkOptions o = uniform(link(bytes_per_second, 10));
  o.mtu = 4096;
  o.packet_overhead = infiniband_header;
  o.buffer_bytes = 32 << 10;
  o.switch_delay = PicoDuration::nanoseconds(switch_ns);
  o.host_overhead = PicoDuration::nanoseconds(overhead_ns);
  o.injection_gap = PicoDuration::nanoseconds(gap_ns);
  return o;
}

NetworkOptions ethernet(std::uint64_t bits_per_second, std::int64_t switch_ns) {
  NetworkOptions o = uniform({.rate = Bandwidth::bits_per_second(bits_per_second),
                              .latency = PicoDuration::nanoseconds(25)});
  o.mtu = 1448;
  o.packet_overhead = ethernet_header;
  o.buffer_bytes = 256 << 10;
  o.switch_delay = PicoDuration::nanoseconds(switch_ns);
  o.cut_through = false;
  o.host_overhead = PicoDuration::nanoseconds(1500);
  o.injection_gap = PicoDuration::nanoseconds(200);
  return o;
}

struct Preset {
  std::string_view name;
  NetworkOptions (*make)();
};

// docs/simulator.md says where the figures come from.
constexpr std::array presets{
    Preset{"aries", aries},
    Preset{"ib-qdr", [] { return infiniband(4 * giga, 140, 400, 150); }},
    Preset{"ib-fdr", [] { return infiniband(6'818'000'000, 170, 350, 120); }},
    Preset{"ib-edr", [] { return infiniband(12'500'000'000, 90, 300, 70); }},
    Preset{"ib-hdr", [] { return infiniband(25 * giga, 130, 250, 50); }},
    Preset{"10gbe", [] { return ethernet(10 * giga, 800); }},
    Preset{"100gbe", [] { return ethernet(100 * giga, 450); }},
};

Error wrong(std::string_view field, std::uint64_t value, std::string_view fix) {
  return invalid("{} is {}: {}", field, value, fix);
}

}  // namespace

std::vector<std::string_view> network_presets() {
  std::vector<std::string_view> names;
  for (const Preset& p : presets) names.push_back(p.name);
  return names;
}

Result<NetworkOptions> network_preset(std::string_view name) {
  for (const Preset& p : presets) {
    if (p.name == name) return p.make();
  }
  return invalid("no network is called '{}': there are {}", name,
                 fmt::join(network_presets(), ", "));
}

std::uint32_t level_reserve(const NetworkOptions& o) {
  const std::uint32_t two_packets = 2 * (o.mtu + o.packet_overhead);
  return std::min(o.buffer_bytes, o.reserve_bytes != 0 ? o.reserve_bytes : two_packets);
}

Result<void> check_network(const NetworkOptions& o) {
  for (const LinkOptions* l : {&o.host_link, &o.local_link, &o.global_link}) {
    if (l->rate == Bandwidth{}) return wrong("rate", 0, "a link needs one, such as 100Gbit");
    if (l->latency.ticks() <= 0 || l->latency > PicoDuration::seconds(1)) {
      return invalid("latency is {} ps: it must be above 0 and at most a second",
                     l->latency.ticks());
    }
  }
  if (o.mtu == 0 || o.mtu > (1 << 20)) return wrong("mtu", o.mtu, "use 1 B to 1 MiB");
  if (o.packet_overhead > (1 << 16)) {
    return wrong("packet-overhead", o.packet_overhead, "use at most 64 KiB");
  }
  if (o.buffer_bytes < o.mtu + o.packet_overhead) {
    return wrong("buffer", o.buffer_bytes, "it must hold a packet (mtu and packet-overhead)");
  }
  if (o.buffer_bytes > (1U << 30)) return wrong("buffer", o.buffer_bytes, "use at most 1 GiB");
  const bool holds_packet = o.reserve_bytes >= o.mtu + o.packet_overhead;
  if (o.reserve_bytes != 0 && (!holds_packet || o.reserve_bytes > o.buffer_bytes)) {
    return wrong("reserve", o.reserve_bytes,
                 "it must hold a packet (mtu and packet-overhead) and be at most the buffer");
  }
  if (o.levels.empty() || o.levels.size() > 16) {
    return wrong("levels", o.levels.size(), "use 1 to 16");
  }
  for (const LevelOptions& level : o.levels) {
    if (level.weight == 0) return wrong("weight", 0, "use 1 to 255");
  }
  if (!(o.second_turn_probability >= 0 && o.second_turn_probability <= 0.9)) {
    return invalid("second-turn-probability is {}: use 0 to 0.9", o.second_turn_probability);
  }
  if (o.interleaved_messages == 0) return wrong("interleaved-messages", 0, "use at least 1");
  const PicoDuration most = PicoDuration::seconds(1);
  for (const auto& [key, d] :
       {std::pair("switch-delay", o.switch_delay), std::pair("host-overhead", o.host_overhead),
        std::pair("injection-gap", o.injection_gap),
        std::pair("retransmit-after", o.retransmit_after)}) {
    if (d.ticks() < 0 || d > most) return invalid("{} is {} s: use 0 to 1 s", key, d.to_seconds());
  }
  return {};
}

}  // namespace weft::sim
