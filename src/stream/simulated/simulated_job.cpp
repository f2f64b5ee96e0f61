// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/simulated_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/check.hpp"
#include "base/log.hpp"
#include "runtime/clock.hpp"
#include "sim/fabric/sim_hub.hpp"
#include "sim/run/world.hpp"
#include "stream/simulated/random_faults.hpp"
#include "stream/simulated/simulated_node.hpp"
#include "testbed/fault.hpp"

namespace weft::stream {
namespace {

constexpr Duration progress_every = Duration::milliseconds(500);
/// What is still in the network when its users are done is out of it within this.
constexpr PicoDuration longest_settling = PicoDuration::seconds(8);

Error unavailable(std::uint32_t host) {
  return {ErrorCode::unavailable, fmt::format("node {} does not run", host)};
}

/// Nodes, and what happens to them.
class SimulatedJob final : private testbed::FaultTarget, private sim::Agent {
 public:
  SimulatedJob(sim::World& world, std::vector<std::uint32_t> hosts, const StreamOptions& options,
               const LocalOptions& local, const NodeFactory& factory, Duration patience)
      : world_(world),
        patience_(patience),
        hosts_(std::move(hosts)),
        options_(options),
        local_(local),
        hub_(fabric_options(world.scenario(), options), hosts_, world.network(), world.agents()),
        place_{.agents = world.agents(),
               .hub = hub_,
               .factory = factory,
               .noise = world.scenario().noise,
               .overhead = world.scenario().network.host_overhead,
               .sample_every = options.sample_every,
               .on_change = [this] { changed_ = true; }},
        agent_(world.agents().add(*this)) {}

  Result<void> start(std::vector<testbed::Fault> faults) {
    faults_to_come_ = std::move(faults);
    const sim::ClockOptions& clocks = world_.scenario().clocks;
    const Rng root = Rng(world_.scenario().seed).split(0xc10c);
    for (std::uint32_t n = 0; n < hosts_.size(); ++n) {
      Rng draw = root.split(n);
      const double offset = (2 * draw.uniform() - 1) * static_cast<double>(clocks.offset.ticks());
      const double drift = (2 * draw.uniform() - 1) * clocks.drift_per_million * 1000;
      nodes_.push_back(std::make_unique<SimulatedNode>(
          place_, NodeId(n), hosts_[n],
          sim::NodeClock(Duration(static_cast<std::int64_t>(offset)),
                         static_cast<std::int64_t>(drift)),
          draw.split(1)));
    }
    for (std::uint32_t n = 0; n < hosts_.size(); ++n) {
      if (auto up = spawn(n); !up) return up;
    }
    return {};
  }

  /// Drives the simulation until every node has finished.
  Result<std::vector<NodeReport>> run() {
    const PicoDuration slice = to_pico(std::max(options_.sample_every, Duration::microseconds(10)));
    Instant next_progress = monotonic_now() + progress_every;
    while (!over()) {
      world_.engine().run_until(world_.engine().now() + slice);
      if (auto good = look_around(); !good) return std::move(good).error();
      if (!local_.on_progress || monotonic_now() < next_progress) continue;
      next_progress = monotonic_now() + progress_every;
      local_.on_progress(progress());
    }
    std::vector<NodeReport> reports;
    for (auto& node : nodes_) {
      if (node->alive() && node->finished()) reports.push_back(node->report());
    }
    if (reports.empty()) return Error{ErrorCode::unavailable, "all nodes of the job are lost"};
    return reports;
  }

  /// Lets what is under way arrive. Whether nothing is left then.
  bool settle() {
    for (const auto& traffic : world_.traffic()) traffic->stop();
    const PicoInstant end = now() + longest_settling;
    for (PicoDuration step = PicoDuration::microseconds(100);; step = step * 2) {
      if (world_.network().at_rest()) return true;
      if (now() >= end) return false;
      world_.engine().run_until(now() + step);
    }
  }
  std::vector<std::string> describe() const {
    std::vector<std::string> lines;
    for (const auto& node : nodes_) lines.push_back(node->describe());
    return lines;
  }

 private:
  static sim::SimFabricOptions fabric_options(const sim::Scenario& scenario,
                                              const StreamOptions& options) {
    sim::SimFabricOptions o;
    o.copied_bytes = scenario.fabric.copied_bytes;
    o.header_bytes = scenario.fabric.header_bytes;
    o.acknowledgement = to_pico(scenario.fabric.acknowledgement);
    o.death_notice = to_pico(scenario.fabric.death_notice);
    o.peer_timeout = to_pico(options.peer_timeout);
    return o;
  }

  PicoInstant now() const { return world_.engine().now(); }
  Instant now_ns() const { return Instant(now().ticks() / 1'000); }

  /// A node's next life, made known to all and told of all.
  Result<void> spawn(std::uint32_t n) {
    if (auto up = nodes_[n]->start(); !up) return up;
    for (std::uint32_t other = 0; other < nodes_.size(); ++other) {
      if (other == n || !nodes_[other]->alive()) continue;
      introduce(*nodes_[n], other);
      introduce(*nodes_[other], n);
    }
    return {};
  }
  void introduce(SimulatedNode& to, std::uint32_t n) {
    const auto added =
        to.fabric().add_peer(NodeId(n), nodes_[n]->incarnation(), nodes_[n]->fabric().address());
    WEFT_CHECK(added.ok());
  }

  bool over() const {
    return std::all_of(nodes_.begin(), nodes_.end(),
                       [this](const auto& node) {
                         const bool gone = !node->alive() || (node->paused() && !more_faults());
                         return gone || node->finished();
                       }) &&
           !(faults_ && any_will_restart());
  }
  bool more_faults() const { return faults_ && faults_->next_deadline() != Instant::never(); }
  bool any_will_restart() const {
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      if (!nodes_[n]->alive() && faults_->will_restart(n)) return true;
    }
    return false;
  }
  bool any_lives(std::uint32_t first, std::uint32_t last) const {
    return std::any_of(nodes_.begin() + first, nodes_.begin() + last,
                       [](const auto& node) { return node->alive(); });
  }

  Result<void> look_around() {
    if (failure_) return *failure_;
    if (changed_) {
      changed_ = false;
      for (const auto& node : nodes_) {
        if (const auto error = node->failure()) return *error;
      }
      if (!faults_ && std::any_of(nodes_.begin(), nodes_.end(),
                                  [](const auto& node) { return node->started(); })) {
        begin();
      }
    }
    const char* lost = !any_lives(0, options_.inputs) ? "input"
                       : !any_lives(options_.inputs, options_.inputs + options_.computes)
                           ? "compute"
                           : nullptr;
    if (lost != nullptr && !(faults_ && any_will_restart()) && !over()) {
      return Error{ErrorCode::unavailable, fmt::format("all {} nodes of the job are lost", lost)};
    }
    const PicoInstant limit = begun_ + to_pico(options_.duration + patience_);
    if (now() > std::max(limit, PicoInstant() + to_pico(options_.start_timeout * 2 + patience_))) {
      for (const auto& node : nodes_) spdlog::info("{}", node->describe());
      return Error{ErrorCode::timed_out,
                   fmt::format("the job did not end within {} simulated seconds; --log info says "
                               "where its nodes are",
                               (now() - PicoInstant()).to_seconds())};
    }
    return {};
  }

  /// The stream flows: from here on faults and the duration count.
  void begin() {
    begun_ = now();
    faults_.emplace(faults_to_come_, now_ns());
    if (options_.duration != Duration{}) {
      set_timer(begun_ + to_pico(options_.duration), stop_timer);
    }
    next_fault();
  }
  enum Timer : std::uint16_t { stop_timer, fault_timer };
  void set_timer(PicoInstant at, Timer timer) {
    world_.agents().set_timer(agent_, hosts_[0], std::max(at, now()), timer);
  }
  void next_fault() {
    const Instant at = faults_->next_deadline();
    if (at != Instant::never()) set_timer(PicoInstant() + to_pico(at - Instant()), fault_timer);
  }
  void on_timer(std::uint16_t detail, std::uint64_t) override {
    if (detail == stop_timer) {
      for (auto& node : nodes_) node->stop();
      return;
    }
    std::vector<testbed::FaultPlayer::Played> played;
    faults_->play(now_ns(), *this, played);
    for (const auto& p : played) {
      if (p.result.ok()) {
        spdlog::info("fault: {}", p.what);
      } else if (!failure_) {
        failure_ = Error{ErrorCode::invalid_argument,
                         fmt::format("--fault '{}': {}", p.what, p.result.error().message)};
      }
    }
    next_fault();
  }

  StreamProgress progress() {
    StreamProgress sum;
    int computes = 0;
    for (std::uint32_t n = options_.inputs; n < nodes_.size(); ++n) {
      const StreamProgress p = nodes_[n]->progress();
      sum.timeslices += p.timeslices;
      sum.bytes += p.bytes;
      sum.spread_us += p.spread_us;
      sum.buffer_fill += p.buffer_fill;
      ++computes;
    }
    sum.spread_us /= std::max(1, computes);
    sum.buffer_fill /= std::max(1, computes);
    sum.elapsed = Duration((now() - begun_).ticks() / 1'000);
    const double seconds = sum.elapsed.to_seconds();
    if (seconds > 0) sum.goodput_bytes_per_s = static_cast<double>(sum.bytes) / seconds;
    return sum;
  }

  // FaultTarget
  Result<void> kill(std::uint32_t host) override {
    if (!nodes_[host]->alive()) return unavailable(host);
    nodes_[host]->kill();
    changed_ = true;
    if (!local_.restart) return {};
    return spawn(host);
  }
  Result<void> stop(std::uint32_t host) override {
    if (!nodes_[host]->alive()) return unavailable(host);
    nodes_[host]->pause();
    return {};
  }
  Result<void> resume(std::uint32_t host) override {
    if (!nodes_[host]->alive()) return unavailable(host);
    nodes_[host]->resume();
    return {};
  }
  Result<void> restart(std::uint32_t host) override {
    if (nodes_[host]->alive()) nodes_[host]->kill();
    return spawn(host);
  }
  Result<void> set_link_up(std::uint32_t host, bool up) override {
    world_.set_host_up(hosts_[host], up);
    for (std::uint32_t n = 0; n < hosts_.size(); ++n) {
      if (hosts_[n] == hosts_[host]) hub_.set_reachable(NodeId(n), up && !nodes_[n]->paused());
    }
    return {};
  }
  Result<void> set_rate(std::uint32_t host, Bandwidth rate) override {
    world_.set_host_rate(hosts_[host], rate);
    return {};
  }
  Result<void> set_loss(std::uint32_t host, std::uint32_t parts_per_million) override {
    world_.set_host_loss(hosts_[host], parts_per_million);
    return {};
  }
  Result<void> jump_clock(std::uint32_t host, Duration by) override {
    nodes_[host]->jump_clock(by);
    return {};
  }
  Result<void> set_partition(const std::vector<std::vector<std::uint32_t>>& groups) override {
    hub_.set_partition(groups);
    return {};
  }

  sim::World& world_;
  Duration patience_;
  std::vector<std::uint32_t> hosts_;  // by node
  const StreamOptions& options_;
  const LocalOptions& local_;
  sim::SimHub hub_;
  SimulatedPlace place_;
  std::uint32_t agent_;
  std::vector<std::unique_ptr<SimulatedNode>> nodes_;
  std::vector<testbed::Fault> faults_to_come_;
  std::optional<testbed::FaultPlayer> faults_;
  std::optional<Error> failure_;
  PicoInstant begun_{};
  bool changed_ = false;
};

Result<std::vector<testbed::Fault>> parse_faults(const sim::Scenario& scenario,
                                                 const StreamOptions& options,
                                                 const LocalOptions& local) {
  const std::uint32_t nodes = options.inputs + options.computes;
  auto faults = draw_random_faults(scenario, options.inputs, options.computes);
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    auto fault = testbed::parse_fault(scenario.faults[i], nodes);
    if (!fault) return scenario.located(fmt::format("faults[{}]", i), fault.error());
    faults.push_back(std::move(fault).value());
  }
  for (const std::string& text : local.faults) {
    auto fault = testbed::parse_fault(text, nodes);
    if (!fault) return std::move(fault).error();
    faults.push_back(std::move(fault).value());
  }
  return faults;
}

}  // namespace

Result<std::vector<NodeReport>> run_simulated_job(
    const sim::Scenario& scenario, const StreamOptions& options, const LocalOptions& local,
    const NodeFactory& factory, SimulationTrace* trace, const SimulationOptions& simulation) {
  const std::uint32_t nodes = options.inputs + options.computes;
  auto faults = parse_faults(scenario, options, local);
  if (!faults) return std::move(faults).error();
  faults->insert(faults->end(), simulation.faults.begin(), simulation.faults.end());
  auto world = sim::World::make(scenario);
  if (!world) return std::move(world).error();
  auto hosts = sim::place(scenario.placement, (*world)->topology(), nodes);
  if (!hosts) {
    const bool is_file = scenario.placement.kind == sim::PlacementKind::file;
    return scenario.located(is_file ? "placement.kind" : "network.topology", hosts.error());
  }
  SimulatedJob job(**world, std::move(hosts).value(), options, local, factory, simulation.patience);
  if (auto up = job.start(std::move(faults).value()); !up) return std::move(up).error();
  auto reports = job.run();
  if (trace != nullptr) {
    std::vector<std::string> where;
    if (!reports) where = job.describe();
    const bool at_rest = simulation.settle && job.settle();
    *trace = {.trace_hash = (*world)->engine().trace_hash(),
              .events = (*world)->engine().events(),
              .packet_hops = (*world)->network().packet_hops(),
              .simulated = Duration((*world)->engine().now().ticks() / 1'000),
              .at_rest = at_rest,
              .nodes = std::move(where)};
  }
  return reports;
}

}  // namespace weft::stream
