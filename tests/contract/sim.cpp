// SPDX-License-Identifier: Apache-2.0
// The simulated fabric, on one switch and on a fat tree. The suite drives endpoints in real time:
// the first poll brings the simulation up to that time.
#include <string_view>

#include "fabric_contract.hpp"
#include "sim/fabric/sim_hub.hpp"
#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft::contract {
namespace {

/// A simulation that all endpoints of one test share.
struct World {
  World(std::string_view topology_text, std::string_view router_name, sim::NetworkOptions like,
        const sim::SimFabricOptions& fabric)
      : topology(sim::make_topology(topology_text).value()),
        router(sim::make_router(router_name, topology).value()),
        engine(topology.vertices()),
        agents(engine),
        network(topology, *router, like, engine, 1),
        hub(fabric, hosts(), network, agents) {}

  std::vector<std::uint32_t> hosts() const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) all.push_back(h);
    return all;
  }
  void run_to(Instant now) {
    if (!begun) begun = now;
    const PicoInstant to = PicoInstant() + to_pico(now - *begun);
    if (to > engine.now()) engine.run_until(to);
  }
  Instant in_real_time(PicoInstant t) const {
    return t == PicoInstant::never() || !begun ? Instant::never()
                                               : *begun + to_nano(t - PicoInstant());
  }

  sim::Topology topology;
  std::unique_ptr<sim::Router> router;
  sim::Engine engine;
  sim::Agents agents;
  sim::Network network;
  sim::SimHub hub;
  std::optional<Instant> begun;
};

class InRealTime final : public Fabric {
 public:
  InRealTime(World& world, std::unique_ptr<Fabric> inner)
      : world_(world), inner_(std::move(inner)) {}
  const FabricLimits& limits() const override { return inner_->limits(); }
  std::string_view name() const override { return inner_->name(); }
  std::string address() const override { return inner_->address(); }
  Result<void> add_peer(NodeId peer, Incarnation incarnation, std::string_view address) override {
    return inner_->add_peer(peer, incarnation, address);
  }
  void remove_peer(NodeId peer) override { inner_->remove_peer(peer); }
  Result<Region> expose(std::span<std::byte> memory) override { return inner_->expose(memory); }
  void retract(const Region& region) override { inner_->retract(region); }
  std::size_t post(std::span<const TxOp> ops) override { return inner_->post(ops); }
  std::size_t poll(Instant now, std::span<Completion> completions) override {
    world_.run_to(now);
    return inner_->poll(now, completions);
  }
  WaitHint prepare_wait(Instant now) override {
    world_.run_to(now);
    WaitHint hint = inner_->prepare_wait(now);
    // Another endpoint's acknowledgements are due without an event; look every millisecond.
    hint.poll_by =
        std::min(world_.in_real_time(world_.engine.next_time()), now + Duration::milliseconds(1));
    return hint;
  }

 private:
  World& world_;
  std::unique_ptr<Fabric> inner_;
};

class SimFactory final : public FabricFactory {
 public:
  SimFactory(std::string_view topology, std::string_view router, sim::NetworkOptions like,
             const sim::SimFabricOptions& fabric = {})
      : world_(topology, router, like, fabric) {}
  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    return std::unique_ptr<Fabric>(
        std::make_unique<InRealTime>(world_, world_.hub.open(self, incarnation, [] {})));
  }

 private:
  World world_;
};

sim::NetworkOptions two_levels() {
  sim::NetworkOptions like = *sim::network_preset("ib-edr");
  like.levels = {{.weight = 3}, {.weight = 1}};
  return like;
}

/// With the shortest waits after RNR NAKs, as the suite waits for them in real time.
sim::SimFabricOptions reliable(std::string_view device, bool paged) {
  sim::RcOptions rc;
  rc.profile = *net::rc::device_profile(device);
  rc.adapter.paged = paged;
  rc.adapter.rnr_timer = 1;
  rc.dummy_after = Duration::microseconds(600);
  sim::SimFabricOptions fabric;
  fabric.rc = rc;
  return fabric;
}

INSTANTIATE_TEST_SUITE_P(
    sim, FabricContract,
    ::testing::Values(
        implementation<SimFactory>("star", "star:16", "d-mod-k", sim::NetworkOptions{}),
        implementation<SimFactory>("adaptive_fat_tree", "fat-tree:16,levels=2,radix=8", "adaptive",
                                   two_levels()),
        implementation<SimFactory>("rc_pinned", "star:16", "d-mod-k", two_levels(),
                                   reliable("connectx-6", false)),
        implementation<SimFactory>("rc_paged", "star:16", "d-mod-k", two_levels(),
                                   reliable("connectx-4", true))),
    implementation_name);

}  // namespace
}  // namespace weft::contract
