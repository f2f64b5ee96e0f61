// SPDX-License-Identifier: Apache-2.0
// Shaped fabrics, over loopback: a fast shape, one that only adds latency, one that is slow enough
// for queues to build up.
#include "fabric/shaped/shaped.hpp"

#include "fabric/loopback/loopback.hpp"
#include "fabric_contract.hpp"

namespace weft::contract {
namespace {

class ShapedFactory final : public FabricFactory {
 public:
  explicit ShapedFactory(ShapeOptions shape) : shape_(shape) {}

  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    auto inner = hub_.open(self, incarnation);
    if (!inner.ok()) return inner;
    return std::unique_ptr<Fabric>(shape(std::move(*inner), shape_));
  }
  bool reaches_itself() const override { return true; }

 private:
  LoopbackHub hub_;
  ShapeOptions shape_;
};

const ShapeOptions kFast =
    symmetric_shape(Bandwidth::bits_per_second(100'000'000'000), Duration::microseconds(5));
const ShapeOptions kLatencyOnly = symmetric_shape(Bandwidth{}, Duration::milliseconds(2));
const ShapeOptions kSlow =
    symmetric_shape(Bandwidth::bits_per_second(400'000'000), Duration::microseconds(100));

INSTANTIATE_TEST_SUITE_P(shaped, FabricContract,
                         ::testing::Values(implementation<ShapedFactory>("fast_loopback", kFast),
                                           implementation<ShapedFactory>("latency_loopback",
                                                                         kLatencyOnly),
                                           implementation<ShapedFactory>("slow_loopback", kSlow)),
                         implementation_name);

}  // namespace
}  // namespace weft::contract
