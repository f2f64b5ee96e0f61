// SPDX-License-Identifier: Apache-2.0
#include "fabric/loopback/loopback.hpp"

#include "fabric_contract.hpp"

namespace weft::contract {
namespace {

class LoopbackFactory final : public FabricFactory {
 public:
  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    return hub_.open(self, incarnation);
  }
  bool reaches_itself() const override { return true; }

 private:
  LoopbackHub hub_;
};

INSTANTIATE_TEST_SUITE_P(loopback, FabricContract,
                         ::testing::Values(implementation<LoopbackFactory>("loopback")),
                         implementation_name);

}  // namespace
}  // namespace weft::contract
