// SPDX-License-Identifier: Apache-2.0
// Shared memory and TCP as one fabric: nodes that all share memory, nodes of which some do, and
// nodes whose shared memory looks promising and then does not work.
#include "fabric/hybrid/hybrid.hpp"

#include <string>
#include <string_view>

#include "fabric/tcp/tcp.hpp"
#include "fabric_contract.hpp"
#include "forked_fabric.hpp"

namespace weft::contract {
namespace {

enum class Sharing {
  all,      // over shared memory
  some,     // nodes of equal parity
  in_vain,  // nobody: each believes to be of another job, and finds out by trying
};

class HybridFactory : public FabricFactory {
 public:
  explicit HybridFactory(Sharing sharing) : sharing_(sharing) {}

  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    ShmOptions near;
    TcpOptions far;
    near.self = far.self = self;
    near.incarnation = far.incarnation = incarnation;
    const auto secret =
        std::as_bytes(std::span(std::string_view("a secret of the contract suite")));
    near.secret.assign(secret.begin(), secret.end());
    far.secret = near.secret;
    if (sharing_ == Sharing::some) near.job_id = std::to_string(self.value() % 2);
    if (sharing_ == Sharing::in_vain) near.job_id = std::to_string(self.value());
    far.listen = "127.0.0.1:0";
    far.peer_timeout = Duration::seconds(1);
    near.retry_first = far.retry_first = Duration();
    auto shared = open_shm(near);
    if (!shared.ok()) return shared.error();
    auto network = open_tcp(far);
    if (!network.ok()) return network.error();
    // Impatient enough that both parts sometimes are up at the same time.
    return open_hybrid({self, Duration::milliseconds(2)}, std::move(*shared), std::move(*network));
  }

 private:
  Sharing sharing_;
};

class ForkedHybridFactory final : public HybridFactory {
 public:
  using HybridFactory::HybridFactory;

  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    return ForkedFabric::open([&] { return HybridFactory::open(self, incarnation); });
  }
  void kill(std::unique_ptr<Fabric> endpoint) override {
    static_cast<ForkedFabric&>(*endpoint).kill();
  }
};

INSTANTIATE_TEST_SUITE_P(hybrid, FabricContract,
                         ::testing::Values(implementation<HybridFactory>("all", Sharing::all),
                                           implementation<HybridFactory>("some", Sharing::some),
                                           implementation<HybridFactory>("none", Sharing::in_vain),
                                           implementation<ForkedHybridFactory>("processes",
                                                                               Sharing::some)),
                         implementation_name);

}  // namespace
}  // namespace weft::contract
