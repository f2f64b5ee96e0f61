// SPDX-License-Identifier: Apache-2.0
// The shaped fabric and the simulated one, given the same link, need the same time: one way for one
// message, and per byte for many. Both are driven by an invented clock, so that the machine's speed
// is not in the figures. docs/shaped-fabric.md says what makes two links the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/check.hpp"
#include "fabric/loopback/loopback.hpp"
#include "fabric/shaped/shaped.hpp"
#include "net/link_model.hpp"
#include "sim/fabric/sim_hub.hpp"
#include "sim/routing/routers.hpp"
#include "sim/topology/builders.hpp"

namespace weft {
namespace {

constexpr double tolerance = 0.01;
constexpr std::uint64_t smallest = 64;
constexpr std::uint64_t largest = std::uint64_t{4} << 20;
constexpr std::uint64_t largest_send = std::uint64_t{32} << 10;

/// How many links of the given rate lie between two nodes.
enum class Path : bool { one_link, two_links };

struct Link {
  Bandwidth rate;
  Duration latency;  ///< from node to node
  ByteCount piece;   ///< passes a link at once: a chunk, a packet
};

/// Two nodes of a fabric, and its clock.
class Pair {
 public:
  virtual ~Pair() = default;
  virtual Fabric& sender() = 0;
  virtual Fabric& receiver() = 0;
  virtual Instant now() const = 0;
  /// On to the next instant at which something may have happened.
  virtual void advance() = 0;
};

class ShapedPair final : public Pair {
 public:
  ShapedPair(const Link& link, Path path) {
    ShapeOptions options;
    options.egress = {link.rate, link.latency};
    if (path == Path::two_links) options.ingress.rate = link.rate;
    options.chunk = link.piece;
    for (std::uint32_t n = 0; n < 2; ++n) {
      fabrics_[n] = shape(hub_.open(NodeId(n), Incarnation(1)).value(), options);
    }
  }
  Fabric& sender() override { return *fabrics_[0]; }
  Fabric& receiver() override { return *fabrics_[1]; }
  Instant now() const override { return now_; }
  void advance() override {
    // An operation that one hands over during its call reaches the other in the second round.
    Instant next = Instant::never();
    for (const int round : {0, 1}) {
      for (auto& fabric : fabrics_) {
        const WaitHint hint = fabric->prepare_wait(now_);
        if (hint.ready) return;
        if (round == 1) next = std::min(next, hint.poll_by);
      }
    }
    WEFT_CHECK(next != Instant::never(), "nothing is under way");
    now_ = std::max(now_, next);
  }

 private:
  LoopbackHub hub_;
  std::array<std::unique_ptr<ShapedFabric>, 2> fabrics_;
  Instant now_{1'000'000'000};
};

sim::NetworkOptions like(const Link& link) {
  sim::NetworkOptions o;
  o.host_link = {.rate = link.rate, .latency = to_pico(link.latency) / 2};
  o.switch_delay = {};
  o.mtu = static_cast<std::uint32_t>(link.piece.value());
  o.buffer_bytes = 1U << 30;  // credits never hold anything up
  return o;
}

class SimulatedPair final : public Pair {
 public:
  SimulatedPair(const Link& link, Path path)
      : topology_(sim::make_topology("star:2").value()),
        router_(sim::make_router("d-mod-k", topology_).value()),
        engine_(topology_.vertices()),
        agents_(engine_),
        network_(topology_, *router_, network_options(link, path), engine_, 1),
        hub_({.header_bytes = 0}, {0, 1}, network_, agents_) {
    for (std::uint32_t n = 0; n < 2; ++n) {
      fabrics_[n] = hub_.open(NodeId(n), Incarnation(1), [] {});
    }
    if (path == Path::two_links) return;
    // The second link takes no time at all, and the switch no more than the first link.
    const sim::PortRef far = topology_.peer(topology_.link({topology_.host(1), PortNumber(0)}));
    network_.set_rate(topology_.link(far), Bandwidth{});
  }
  Fabric& sender() override { return *fabrics_[0]; }
  Fabric& receiver() override { return *fabrics_[1]; }
  Instant now() const override { return Instant((engine_.now().ticks() + 999) / 1'000); }
  void advance() override {
    PicoInstant next = engine_.next_time();
    if (next == PicoInstant::never()) next = engine_.now() + PicoDuration::microseconds(1);
    engine_.run_until(next + PicoDuration(1));  // events at its end are not handled yet
  }

 private:
  using PortNumber = sim::PortNumber;
  static sim::NetworkOptions network_options(const Link& link, Path path) {
    sim::NetworkOptions o = like(link);
    o.cut_through = path == Path::one_link;
    return o;
  }

  sim::Topology topology_;
  std::unique_ptr<sim::Router> router_;
  sim::Engine engine_;
  sim::Agents agents_;
  sim::Network network_;
  sim::SimHub hub_;
  std::array<std::unique_ptr<Fabric>, 2> fabrics_;
};

/// The measured figures of a stream of messages.
struct Measured {
  Duration one_way{};  ///< of the first message
  double bytes_per_second = 0;
};

/// Posts messages of `size` as fast as the fabric takes them.
class Stream {
 public:
  Stream(Pair& pair, OpKind kind, std::uint64_t size)
      : pair_(pair), kind_(kind), content_(size), memory_(size) {
    region_ = pair.receiver().expose(memory_).value();
    for (std::uint32_t n : {0U, 1U}) {
      Fabric& self = n == 0 ? pair.sender() : pair.receiver();
      Fabric& other = n == 0 ? pair.receiver() : pair.sender();
      EXPECT_TRUE(self.add_peer(NodeId(1 - n), Incarnation(1), other.address()).ok());
    }
    run_until([this] { return up_ == 2; });
  }

  Measured run(std::uint64_t messages) {
    to_post_ = messages * (kind_ == OpKind::write ? 2 : 1);
    const Instant start = pair_.now();
    run_until([&] { return arrivals_.size() == messages; });
    const Duration between = arrivals_.back() - arrivals_.front();
    return {.one_way = arrivals_.front() - start,
            .bytes_per_second = static_cast<double>((messages - 1) * content_.size()) /
                                std::max(between.to_seconds(), 1e-9)};
  }

 private:
  /// A write is noticed by the message of a byte that follows it.
  TxOp next_operation() const {
    const bool is_content = kind_ == OpKind::send || to_post_ % 2 == 0;
    TxOp op;
    op.kind = is_content ? kind_ : OpKind::send;
    op.peer = NodeId(1);
    op.segments[0] = std::span(content_).first(is_content ? content_.size() : 1);
    op.region = region_.remote;
    return op;
  }
  template <class Condition>
  void run_until(Condition holds) {
    for (;;) {
      turn();
      if (holds()) return;
      pair_.advance();
    }
  }
  void turn() {
    bool moved = true;
    while (moved) {
      moved = false;
      while (to_post_ > 0) {
        const TxOp op = next_operation();
        if (pair_.sender().post({&op, 1}) == 0) break;
        --to_post_;
        moved = true;
      }
      for (Fabric* fabric : {&pair_.sender(), &pair_.receiver()}) {
        std::array<Completion, 16> completions;
        const std::size_t n = fabric->poll(pair_.now(), completions);
        for (std::size_t i = 0; i < n; ++i) take(completions[i]);
        moved = moved || n > 0;
      }
    }
  }
  void take(const Completion& completion) {
    if (completion.kind == CompletionKind::peer_up) ++up_;
    if (completion.kind == CompletionKind::received) arrivals_.push_back(pair_.now());
  }

  Pair& pair_;
  OpKind kind_;
  std::vector<std::byte> content_;
  std::vector<std::byte> memory_;
  Region region_;
  int up_ = 0;
  std::uint64_t to_post_ = 0;
  std::vector<Instant> arrivals_;
};

template <class P>
Measured measure(const Link& link, Path path, OpKind kind, std::uint64_t size) {
  P alone(link, path);
  const Measured one = Stream(alone, kind, size).run(1);
  P busy(link, path);
  const std::uint64_t messages = std::clamp<std::uint64_t>((8 << 20) / size, 8, 200);
  Measured many = Stream(busy, kind, size).run(messages);
  many.one_way = one.one_way;
  return many;
}

class link_agreement : public testing::TestWithParam<Link> {};

void compare(const Link& link, Path path, OpKind kind, std::uint64_t size) {
  const Measured shaped = measure<ShapedPair>(link, path, kind, size);
  const Measured simulated = measure<SimulatedPair>(link, path, kind, size);
  const std::string what =
      fmt::format("{} of {} bytes", kind == OpKind::write ? "writes" : "messages", size);
  EXPECT_NEAR(shaped.one_way.to_seconds(), simulated.one_way.to_seconds(),
              simulated.one_way.to_seconds() * tolerance)
      << what;
  EXPECT_NEAR(shaped.bytes_per_second, simulated.bytes_per_second,
              simulated.bytes_per_second * tolerance)
      << what;
  if (path != Path::one_link || kind != OpKind::send) return;
  // The model itself is the third to be asked.
  net::LinkModel model({.rate = link.rate, .latency = to_pico(link.latency)});
  const double expected = (model.send({}, ByteCount(size)).arrival - PicoInstant()).to_seconds();
  EXPECT_NEAR(simulated.one_way.to_seconds(), expected, expected * tolerance) << what;
  const auto rate = static_cast<double>(link.rate.bytes_per_second());
  EXPECT_NEAR(simulated.bytes_per_second, rate, rate * tolerance) << what;
}

TEST_P(link_agreement, shaped_and_simulated_need_the_same_time_over_one_link) {
  for (std::uint64_t size = smallest; size <= largest; size *= 4) {
    compare(GetParam(), Path::one_link, OpKind::write, size);
    if (size <= largest_send) compare(GetParam(), Path::one_link, OpKind::send, size);
  }
}

TEST_P(link_agreement, shaped_and_simulated_need_the_same_time_through_a_switch) {
  for (std::uint64_t size = smallest; size <= largest; size *= 4) {
    compare(GetParam(), Path::two_links, OpKind::write, size);
    if (size <= largest_send) compare(GetParam(), Path::two_links, OpKind::send, size);
  }
}

INSTANTIATE_TEST_SUITE_P(, link_agreement,
                         testing::Values(Link{Bandwidth::bits_per_second(100'000'000),
                                              Duration::microseconds(20), ByteCount::kib(8)},
                                         Link{Bandwidth::bits_per_second(10'000'000'000),
                                              Duration::microseconds(2), ByteCount::kib(8)},
                                         Link{Bandwidth::bits_per_second(100'000'000'000),
                                              Duration::milliseconds(1), ByteCount::kib(64)}),
                         [](const testing::TestParamInfo<Link>& p) {
                           return fmt::format("{}_Mbit_and_{}_ns",
                                              p.param.rate.bytes_per_second() / 125'000,
                                              p.param.latency.ticks());
                         });

}  // namespace
}  // namespace weft
