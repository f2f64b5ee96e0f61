// SPDX-License-Identifier: Apache-2.0
// World: a scenario made real: topology, router, engine and network, with its background traffic.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/engine/agent.hpp"
#include "sim/engine/engine.hpp"
#include "sim/network/network.hpp"
#include "sim/partition/exchange.hpp"
#include "sim/partition/windows.hpp"
#include "sim/routing/router.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/topology/cable_names.hpp"
#include "sim/topology/topology.hpp"
#include "sim/traffic/traffic.hpp"

namespace weft::sim {

/// Not movable: its parts refer to each other. One thread.
class World {
 public:
  /// Errors: those of scenario, topology, router or network. With an exchange of several ranks it
  /// is divided among them: each has its part, and they make it together and fail together. The
  /// exchange outlives it. `jobs_talk_after`: nodes of jobs that are in different parts hear of
  /// each other so much later at the earliest (Guarantees::words_matter_after); there is traffic
  /// only otherwise.
  static Result<std::unique_ptr<World>> make(const Scenario& scenario, Exchange* exchange = nullptr,
                                             PicoDuration jobs_talk_after = PicoDuration::max());
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const Scenario& scenario() const { return scenario_; }
  const Topology& topology() const { return topology_; }
  const Router& router() const { return *router_; }
  Engine& engine() { return engine_; }
  Agents& agents() { return agents_; }
  Network& network() { return *network_; }
  const Network& network() const { return *network_; }
  const std::vector<std::unique_ptr<Traffic>>& traffic() const { return traffic_; }

  /// Faults may give links rates up to that one. Before it runs.
  void expect_rates_up_to(Bandwidth fastest);
  /// Runs all parts: everything before `end` has happened.
  void run_until(PicoInstant end);

  /// Shares and priorities of the network's levels from now on, as many as it has; `levels()` are
  /// those at present. At any time; in all parts at the same instant.
  void set_levels(std::span<const LevelOptions> levels) { network_->set_levels(levels); }
  std::span<const LevelOptions> levels() const { return network_->options().levels; }

  /// Cables by the names of their ends, both ways of each.
  Result<std::vector<LinkId>> cables(std::string_view name) { return cable_names_.find(name); }
  void set_up(std::span<const LinkId> links, bool up);
  /// Zero gives each link the scenario's rate back.
  void set_rate(std::span<const LinkId> links, Bandwidth rate);
  void set_loss(std::span<const LinkId> links, std::uint32_t parts_per_million);
  /// Returns whether the scenario declares all of them lossy.
  bool are_lossy(std::span<const LinkId> links) const;

  std::array<LinkId, 2> host_links(std::uint32_t host) const;
  /// A host's cable, both ways: pulled or plugged in.
  void set_host_up(std::uint32_t host, bool up);
  /// Its rate from now on, both ways; zero gives the scenario's back.
  void set_host_rate(std::uint32_t host, Bandwidth rate);
  /// From now on the host's link loses `parts_per_million` of a million packets, each way. The
  /// network sends lost packets again.
  void set_host_loss(std::uint32_t host, std::uint32_t parts_per_million);

 private:
  World(const Scenario& scenario, Topology topology);
  static Result<std::unique_ptr<World>> prepare(const Scenario& scenario);
  void start(Exchange* exchange, PicoDuration jobs_talk_after);
  Result<void> declare_lossy();

  /// Gives levels their new shares when their time has come.
  class LevelChanges final : public Agent {
   public:
    explicit LevelChanges(World& world);
    void on_timer(std::uint16_t detail, std::uint64_t payload) override;

   private:
    World& world_;
  };

  Scenario scenario_;
  Topology topology_;
  CableNames cable_names_;
  std::vector<bool> lossy_;  // by LinkId; empty: none
  std::unique_ptr<Router> router_;
  Engine engine_;
  Agents agents_;
  std::optional<Border> border_;  // when it is divided
  std::optional<Network> network_;
  std::optional<Windows> windows_;  // when it is divided
  std::vector<std::unique_ptr<Traffic>> traffic_;
  std::optional<LevelChanges> level_changes_;
};

}  // namespace weft::sim
