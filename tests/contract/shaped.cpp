// SPDX-License-Identifier: Apache-2.0
// Shaped fabrics, over loopback and over TCP: a fast shape, one that only adds latency, one that is
// slow enough for queues to build up.
#include "fabric/shaped/shaped.hpp"

#include <string_view>

#include "fabric/loopback/loopback.hpp"
#include "fabric/tcp/tcp.hpp"
#include "fabric_contract.hpp"

namespace weft::contract {
namespace {

class ShapedLoopbackFactory final : public FabricFactory {
 public:
  explicit ShapedLoopbackFactory(ShapeOptions shape) : shape_(shape) {}

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

class ShapedTcpFactory final : public FabricFactory {
 public:
  explicit ShapedTcpFactory(ShapeOptions shape) : shape_(shape) {}

  Result<std::unique_ptr<Fabric>> open(NodeId self, Incarnation incarnation) override {
    TcpOptions options;
    options.self = self;
    options.incarnation = incarnation;
    options.listen = "127.0.0.1:0";
    options.job_id = "contract";
    const auto secret =
        std::as_bytes(std::span(std::string_view("a secret of the contract suite")));
    options.secret.assign(secret.begin(), secret.end());
    auto inner = open_tcp(options);
    if (!inner.ok()) return inner;
    return std::unique_ptr<Fabric>(shape(std::move(*inner), shape_));
  }

 private:
  ShapeOptions shape_;
};

const ShapeOptions kFast =
    symmetric_shape(Bandwidth::bits_per_second(100'000'000'000), Duration::microseconds(5));
const ShapeOptions kLatencyOnly = symmetric_shape(Bandwidth{}, Duration::milliseconds(2));
const ShapeOptions kSlow =
    symmetric_shape(Bandwidth::bits_per_second(400'000'000), Duration::microseconds(100));

INSTANTIATE_TEST_SUITE_P(
    shaped, FabricContract,
    ::testing::Values(implementation<ShapedLoopbackFactory>("fast_loopback", kFast),
                      implementation<ShapedLoopbackFactory>("latency_loopback", kLatencyOnly),
                      implementation<ShapedLoopbackFactory>("slow_loopback", kSlow),
                      implementation<ShapedTcpFactory>("fast_tcp", kFast),
                      implementation<ShapedTcpFactory>("latency_tcp", kLatencyOnly),
                      implementation<ShapedTcpFactory>("slow_tcp", kSlow)),
    implementation_name);

}  // namespace
}  // namespace weft::contract
