// SPDX-License-Identifier: Apache-2.0
#include "stream/swarm/swarm_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::stream {
namespace {

/// The most bytes of all contributions of a job: few enough for some ten milliseconds of computing.
constexpr std::uint64_t most_bytes = 2 << 20;

enum Aspect : std::uint64_t {
  network,
  nodes,
  contents,
  limits,
  schedules,
  disturbances,
  faults,
  splits,
  notices
};

template <class T, std::size_t N>
T one_of(Rng& rng, const std::array<T, N>& choices) {
  return choices[rng.below(N)];
}
bool chance(Rng& rng, double probability) {
  return rng.uniform() < probability;
}
/// Evenly distributed in magnitude.
double magnitude(Rng& rng, double least, double most) {
  return least * std::pow(most / least, rng.uniform());
}
std::uint32_t between(Rng& rng, std::uint32_t least, std::uint32_t most) {
  return least + static_cast<std::uint32_t>(rng.below(most - least + 1));
}

Duration microseconds(double us) {
  return Duration(static_cast<std::int64_t>(us * 1000));
}

std::string draw_topology(Rng& rng) {
  constexpr std::array<std::string_view, 14> kinds = {
      "star:12",      "star:16",          "fat-tree:12,levels=2,radix=8",
      "fat-tree:16",  "fat-tree:24",      "fat-tree:16,levels=3,radix=4",
      "dragonfly:72", "dragonfly:16",     "fat-tree:32,levels=2,radix=12,taper=2",
      "torus:4x4",    "torus:3x2x3",      "dragonfly:48,shape=xc40,groups=4",
      "torus:13",     "torus:4x2,hosts=2"};
  return std::string(one_of(rng, kinds));
}

void draw_levels(Rng& rng, sim::NetworkOptions& o) {
  o.levels.assign(between(rng, 1, 4), {});
  for (sim::LevelOptions& level : o.levels) {
    level.priority = static_cast<std::uint8_t>(rng.below(3));
    level.weight = static_cast<std::uint8_t>(1 + rng.below(8));
  }
}

sim::NetworkOptions draw_network(Rng& rng) {
  const auto presets = sim::network_presets();
  sim::NetworkOptions o = *sim::network_preset(presets[rng.below(presets.size())]);
  constexpr std::array<std::uint32_t, 4> packets = {256, 1024, 2048, 9000};
  if (chance(rng, 0.3)) o.mtu = one_of(rng, packets);
  constexpr std::array<std::uint32_t, 4> rooms = {1, 2, 4, 16};
  const std::uint32_t packet = o.mtu + o.packet_overhead;
  o.buffer_bytes = std::max(o.buffer_bytes, packet);
  if (chance(rng, 0.5)) {
    o.buffer_bytes = packet * one_of(rng, rooms) + static_cast<std::uint32_t>(rng.below(64));
  }
  if (chance(rng, 0.3)) o.cut_through = !o.cut_through;
  o.interleaved_messages = 1 + static_cast<std::uint32_t>(rng.below(16));
  draw_levels(rng, o);
  return o;
}

Result<std::uint32_t> draw_place(Rng& rng, const sim::Scenario* like, sim::Scenario& scenario) {
  if (like != nullptr) {
    scenario.topology = like->topology;
    scenario.router = like->router;
    scenario.network = like->network;
  } else {
    scenario.topology = draw_topology(rng);
    scenario.network = draw_network(rng);
  }
  const auto topology = sim::make_topology(scenario.topology);
  if (!topology) return topology.error();
  if (topology->hosts() < 2) {
    return invalid("topology '{}' has {} hosts: a job needs 2", scenario.topology,
                   topology->hosts());
  }
  const auto routers = sim::router_names(*topology);
  if (like == nullptr) scenario.router = std::string(routers[rng.below(routers.size())]);
  constexpr std::array kinds = {sim::PlacementKind::contiguous, sim::PlacementKind::random,
                                sim::PlacementKind::round_robin};
  scenario.placement.kind = one_of(rng, kinds);
  scenario.placement.seed = rng.next();
  return topology->hosts();
}

void draw_nodes(Rng rng, std::uint32_t hosts, const sim::NetworkOptions& net, StreamOptions& o) {
  const std::uint32_t most = std::min<std::uint32_t>(6, hosts / 2);
  o.inputs = between(rng, 1, most);
  o.computes = between(rng, 1, most);
  const auto levels = static_cast<std::uint32_t>(net.levels.size());
  o.data_level = ServiceLevel(static_cast<std::uint8_t>(rng.below(levels)));
  o.control_level = ServiceLevel(static_cast<std::uint8_t>(rng.below(levels)));
  constexpr std::array<std::int64_t, 3> timeouts = {2, 5, 20};
  o.peer_timeout = Duration::milliseconds(one_of(rng, timeouts));
  o.start_timeout = Duration::milliseconds(500);
  o.sample_every = Duration::microseconds(100);
  o.sink_in_loop = o.source_in_loop = true;
}

/// Sources and all sizes. Returns how long the stream takes at least, as far as it is paced.
Duration draw_contents(Rng rng, StreamOptions& o, SwarmExpectation& expected) {
  const auto size = static_cast<std::uint64_t>(magnitude(rng, 64, 32'768));
  constexpr std::array<std::string_view, 3> distributions = {"constant", "uniform", "poisson"};
  const std::string_view sizes = one_of(rng, distributions);
  o.microslices_per_timeslice = chance(rng, 0.5) ? 1 : between(rng, 1, 4);
  o.overlap_microslices = chance(rng, 0.75) ? 0 : between(rng, 1, 2);
  const std::uint32_t microslices = o.microslices_per_timeslice + o.overlap_microslices;
  // Poisson with hits of an eighth of the size: 4 times the mean is out of reach.
  const std::uint64_t largest = microslices * ((sizes == "constant"  ? size
                                                : sizes == "uniform" ? size + size / 2 + 1
                                                                     : 4 * size) +
                                               sizeof(MicrosliceDescriptor));
  const std::uint64_t contribution = size * microslices;
  const std::uint64_t most =
      std::clamp<std::uint64_t>(most_bytes / (contribution * o.inputs), 12, 400);
  const std::uint64_t timeslices = 4 + rng.below(most);
  o.source = fmt::format("pattern:?size={}&sizes={}", size, sizes);
  if (sizes == "poisson") o.source += fmt::format("&hit={}", std::max<std::uint64_t>(1, size / 8));
  if (chance(rng, 0.2)) o.source += "&fill=header";
  Duration length = microseconds(magnitude(rng, 200, 2000));
  if (chance(rng, 0.5)) {
    length = microseconds(magnitude(rng, 500, 20'000));
    const std::uint64_t all = timeslices * o.microslices_per_timeslice;
    o.source +=
        fmt::format("&rate={:.0f}Hz", std::ceil(static_cast<double>(all) / length.to_seconds()));
  }
  if (chance(rng, 0.15)) {
    expected.ends_by_time = true;
    o.duration = length;
    o.source += fmt::format("&count={}", timeslices * o.microslices_per_timeslice * 2);
  } else if (chance(rng, 0.25)) {
    const std::uint64_t less = rng.below(o.microslices_per_timeslice);
    o.source += fmt::format("&count={}", timeslices * o.microslices_per_timeslice - less);
    expected.timeslices = timeslices;
  } else {
    o.timeslices = expected.timeslices = timeslices;
  }
  constexpr std::array<std::uint64_t, 5> rooms = {1, 2, 3, 8, 32};
  o.buffer = ByteCount(std::min<std::uint64_t>(largest * one_of(rng, rooms),
                                               std::max<std::uint64_t>(largest, 256 << 10)));
  // Schedules with a sending order of their own need a round of timeslices in the buffer.
  if (chance(rng, 0.3)) o.input_buffer = ByteCount(largest * (2 * o.computes + rng.below(4)));
  return length;
}

void draw_limits(Rng rng, StreamOptions& o, SwarmExpectation& expected) {
  constexpr std::array<std::uint32_t, 6> entries = {1, 2, 3, 8, 64, 256};
  o.descriptors = one_of(rng, entries);
  o.sink_depth = chance(rng, 0.3) ? 1 : between(rng, 1, 64);
  o.seed = rng.next() >> 1;
  if (chance(rng, 0.1)) o.late_after = microseconds(magnitude(rng, 1, 1000));
  if (chance(rng, 0.07)) {
    o.give_up_after = microseconds(magnitude(rng, 20, 5000));
    expected.may_miss_components = true;
  }
}

void draw_schedule(Rng rng, StreamOptions& o) {
  constexpr std::array<std::string_view, 4> names = {"best-effort", "offset", "dfs", "grant"};
  o.schedule = std::string(one_of(rng, names));
  o.dfs.timeslices_per_interval = between(rng, 1, 100);
  o.dfs.history_length = between(rng, 1, 10);
  o.dfs.speed_up_threshold_percent = static_cast<double>(rng.below(30));
  o.dfs.speed_up_percent = static_cast<double>(rng.below(20));
  o.dfs.acknowledgement_threshold_percent = static_cast<double>(50 + rng.below(51));
  o.dfs.engines = static_cast<std::uint32_t>(rng.below(o.computes + 1));
  o.dfs.request_distance = between(rng, 2, 4);
  o.grant.min_in_flight = between(rng, 1, 4);
  o.grant.max_in_flight = o.grant.min_in_flight + static_cast<std::uint32_t>(rng.below(64));
  o.grant.late_factor = between(rng, 1, 5);
  o.grant.open_timeslices = between(rng, 1, 32);
}

/// Draws whether nodes notice late, each at another time, that another one is gone.
void draw_notices(Rng rng, const StreamOptions& o, sim::Scenario& s) {
  if (chance(rng, 0.75)) return;
  const double timeouts = magnitude(rng, 0.03, 3);
  s.fabric.notice_spread =
      Duration(static_cast<std::int64_t>(static_cast<double>(o.peer_timeout.ticks()) * timeouts));
}

/// Draws clocks, noise and other traffic on the network.
void draw_disturbances(Rng rng, Duration length, sim::Scenario& s) {
  s.fabric.acknowledgement = microseconds(magnitude(rng, 0.3, 10));
  s.fabric.death_notice = microseconds(magnitude(rng, 10, 1000));
  if (chance(rng, 0.6)) {
    s.clocks.offset = microseconds(magnitude(rng, 1, 10'000));
    s.clocks.drift_per_million = 50 * rng.uniform();
  }
  if (chance(rng, 0.3)) {
    s.noise.every = microseconds(magnitude(rng, 100, 2000));
    s.noise.mean = microseconds(magnitude(rng, 1, 100));
  }
  if (!chance(rng, 0.3)) return;
  constexpr std::array patterns = {sim::TrafficPattern::uniform, sim::TrafficPattern::permutation,
                                   sim::TrafficPattern::incast, sim::TrafficPattern::bursts};
  sim::TrafficOptions traffic;
  traffic.pattern = one_of(rng, patterns);
  traffic.load = traffic.pattern == sim::TrafficPattern::incast ? 0.02 : magnitude(rng, 0.01, 0.3);
  traffic.message_bytes = static_cast<std::uint64_t>(magnitude(rng, 64, 16'384));
  traffic.level = static_cast<std::uint8_t>(rng.below(s.network.levels.size()));
  traffic.end = PicoInstant() + to_pico(std::min(length, Duration::microseconds(500)));
  s.traffic.push_back(traffic);
}

}  // namespace

Result<SwarmCase> draw_swarm_case(std::uint64_t seed, const sim::Scenario* like) {
  SwarmCase drawn;
  drawn.seed = seed;
  drawn.scenario.seed = seed;
  drawn.scenario.name = fmt::format("swarm seed {}", seed);
  const Rng root(seed);
  Rng place = root.split(Aspect::network);
  const auto hosts = draw_place(place, like, drawn.scenario);
  if (!hosts) return hosts.error();
  StreamOptions& o = drawn.options;
  draw_nodes(root.split(Aspect::nodes), *hosts, drawn.scenario.network, o);
  const Duration length = draw_contents(root.split(Aspect::contents), o, drawn.expected);
  draw_limits(root.split(Aspect::limits), o, drawn.expected);
  draw_schedule(root.split(Aspect::schedules), o);
  draw_disturbances(root.split(Aspect::disturbances), length, drawn.scenario);
  drawn.patience = Duration::seconds(4) + o.peer_timeout * 50;
  draw_swarm_faults(root.split(Aspect::faults), root.split(Aspect::splits), length, drawn);
  draw_notices(root.split(Aspect::notices), o, drawn.scenario);
  if (auto good = check_options(o); !good) return std::move(good).error();
  return drawn;
}

std::string to_text(const SwarmCase& c) {
  const StreamOptions& o = c.options;
  const sim::NetworkOptions& net = c.scenario.network;
  std::string text = fmt::format(
      "seed {}\n"
      "  network: {} router {} placement {} mtu {}+{} buffer {} {} levels {} interleaved {}\n"
      "  nodes: {} inputs, {} computes, peer timeout {}, data level {}, control level {}{}\n"
      "  stream: {} x {}+{} microslices, timeslices {}, duration {}, buffer {}, input buffer {}, "
      "descriptors {}, sink depth {}, late after {} ns, give up after {} ns\n",
      c.seed, c.scenario.topology, c.scenario.router, static_cast<int>(c.scenario.placement.kind),
      net.mtu, net.packet_overhead, net.buffer_bytes,
      net.cut_through ? "cut-through" : "store-and-forward", net.levels.size(),
      net.interleaved_messages, o.inputs, o.computes, to_text(o.peer_timeout), o.data_level.value(),
      o.control_level.value(), o.quorum == Quorum::majority ? ", majority" : "", o.source,
      o.microslices_per_timeslice, o.overlap_microslices, o.timeslices, to_text(o.duration),
      o.buffer.value(), o.input_buffer.value(), o.descriptors, o.sink_depth, o.late_after.ticks(),
      o.give_up_after.ticks());
  text += fmt::format("  schedule: {}", o.schedule);
  if (o.schedule == "dfs") {
    text += fmt::format(" interval {} history {} speed-up {}% at {}% acknowledged {}% engines {}",
                        o.dfs.timeslices_per_interval, o.dfs.history_length, o.dfs.speed_up_percent,
                        o.dfs.speed_up_threshold_percent, o.dfs.acknowledgement_threshold_percent,
                        o.dfs.engines);
  } else if (o.schedule == "grant") {
    text += fmt::format(" in flight {}-{} late factor {} open {}", o.grant.min_in_flight,
                        o.grant.max_in_flight, o.grant.late_factor, o.grant.open_timeslices);
  }
  text +=
      fmt::format("\n  clocks: {} {:.1f} ppm; noise: every {} for {}; notices: within {}; traffic:",
                  to_text(c.scenario.clocks.offset), c.scenario.clocks.drift_per_million,
                  to_text(c.scenario.noise.every), to_text(c.scenario.noise.mean),
                  to_text(c.scenario.fabric.notice_spread));
  for (const sim::TrafficOptions& t : c.scenario.traffic) {
    text += fmt::format(" pattern {} load {:.3f} of {} B at level {}", static_cast<int>(t.pattern),
                        t.load, t.message_bytes, t.level);
  }
  for (const faults::Fault& fault : c.faults) {
    text += fmt::format("\n  fault: at={} {}", to_text(fault.at), faults::to_text(fault));
    if (fault.lasts > Duration{}) text += fmt::format(" for={}", to_text(fault.lasts));
  }
  return text + fmt::format("\n  expected: {}{}", c.expected.calm ? "calm" : "disturbed",
                            c.expected.may_miss_components ? ", components may be missing" : "");
}

}  // namespace weft::stream
