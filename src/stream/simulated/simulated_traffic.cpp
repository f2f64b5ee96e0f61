// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/simulated_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "sim/run/world.hpp"
#include "stream/simulated/random_faults.hpp"
#include "testbed/fault.hpp"

namespace weft::stream {
namespace {

using Kind = testbed::Fault::Kind;

Result<std::vector<testbed::Fault>> parse_faults(const sim::Scenario& scenario,
                                                 std::uint32_t hosts) {
  sim::Scenario links_only = scenario;
  links_only.random_faults.pauses_per_s = 0;
  links_only.random_faults.crashes_per_s = 0;
  auto faults = draw_random_faults(links_only, hosts, 0);
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    const std::string key = fmt::format("faults[{}]", i);
    auto fault = testbed::parse_fault(scenario.faults[i], hosts);
    if (!fault) return scenario.located(key, fault.error());
    const bool of_links =
        fault->kind == Kind::link_down || fault->kind == Kind::slow || fault->kind == Kind::loss;
    if (!of_links) {
      return scenario.located(key,
                              {ErrorCode::invalid_argument,
                               fmt::format("--fault '{}': there is no job that it could happen "
                                           "to; add [job], or use link-down, slow or loss",
                                           scenario.faults[i])});
    }
    faults.push_back(std::move(fault).value());
  }
  return faults;
}

/// The links of a world, for faults.
class FaultyLinks final : private testbed::FaultTarget, private sim::Agent {
 public:
  FaultyLinks(sim::World& world, std::vector<testbed::Fault> faults)
      : world_(world), player_(std::move(faults), Instant()), agent_(world.agents().add(*this)) {
    set_timer();
  }

 private:
  void on_timer(std::uint16_t, std::uint64_t) override {
    std::vector<testbed::FaultPlayer::Played> played;
    const Instant now(world_.engine().now().ticks() / 1'000);
    player_.play(now, *this, played);
    for (const auto& p : played) spdlog::info("fault: {}", p.what);
    set_timer();
  }
  void set_timer() {
    const Instant at = player_.next_deadline();
    if (at != Instant::never()) world_.agents().set_timer(agent_, 0, to_pico(at));
  }
  Result<void> set_link_up(std::uint32_t host, bool up) override {
    world_.set_host_up(host, up);
    return {};
  }
  Result<void> set_rate(std::uint32_t host, Bandwidth rate) override {
    world_.set_host_rate(host, rate);
    return {};
  }

  Result<void> set_loss(std::uint32_t host, std::uint32_t parts_per_million) override {
    world_.set_host_loss(host, parts_per_million);
    return {};
  }

  sim::World& world_;
  testbed::FaultPlayer player_;
  std::uint32_t agent_;
};

/// Until nothing happens any more.
void drain(sim::Engine& engine) {
  while (!engine.idle()) {
    engine.run_until(std::max(engine.next_time(), engine.now()) + PicoDuration::microseconds(1));
  }
}

}  // namespace

Result<TrafficOutcome> run_simulated_traffic(const sim::Scenario& scenario) {
  if (scenario.traffic.empty()) {
    return scenario.located("network", {ErrorCode::invalid_argument,
                                        "nothing happens in this network; add [[traffic]] or "
                                        "[job]"});
  }
  sim::Scenario bounded = scenario;
  const PicoInstant end = PicoInstant() + to_pico(scenario.duration);
  for (auto& traffic : bounded.traffic) traffic.end = std::min(traffic.end, end);
  auto made = sim::World::make(bounded);
  if (!made) return std::move(made).error();
  sim::World& world = **made;
  auto faults = parse_faults(bounded, world.topology().hosts());
  if (!faults) return std::move(faults).error();
  const FaultyLinks links(world, std::move(faults).value());
  world.engine().run_until(end);
  std::vector<std::uint64_t> in_time;
  for (const auto& t : world.traffic()) in_time.push_back(t->delivered_bytes());
  drain(world.engine());

  TrafficOutcome outcome{.hosts = world.topology().hosts(),
                         .switches = world.topology().switches(),
                         .router = std::string(world.router().name()),
                         .packet_hops = world.network().packet_hops(),
                         .events = world.engine().events(),
                         .trace_hash = world.engine().trace_hash(),
                         .simulated = Duration(world.engine().now().ticks() / 1'000)};
  for (std::size_t i = 0; i < world.traffic().size(); ++i) {
    const sim::Traffic& t = *world.traffic()[i];
    const sim::TrafficOptions& o = bounded.traffic[i];
    const double seconds = (o.end - o.start).to_seconds();
    outcome.traffic.push_back(
        {.pattern = o.pattern,
         .messages = t.sent(),
         .delivered = t.delivered(),
         .bytes = t.delivered_bytes(),
         .goodput_bytes_per_s = seconds > 0 ? static_cast<double>(in_time[i]) / seconds : 0,
         .latency_median_ns = t.latencies().quantile_ns(0.5),
         .latency_p99_ns = t.latencies().quantile_ns(0.99)});
  }
  return outcome;
}

}  // namespace weft::stream
