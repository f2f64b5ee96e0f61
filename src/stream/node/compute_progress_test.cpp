// SPDX-License-Identifier: Apache-2.0
// What a compute node tells of its progress. Its input nodes are played by hand.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "core/stream/messages.hpp"
#include "core/stream/outbox.hpp"
#include "stream/node/of_late.hpp"
#include "stream/node/stream_node.hpp"

namespace weft::stream {
namespace {

/// Memory that the network would write to is written to by the test.
class MemoryFabric final : public Fabric {
 public:
  const FabricLimits& limits() const override { return limits_; }
  std::string_view name() const override { return "memory"; }
  std::string address() const override { return ""; }
  Result<void> add_peer(NodeId, Incarnation, std::string_view) override { return {}; }
  void remove_peer(NodeId) override {}
  Result<Region> expose(std::span<std::byte> memory) override {
    exposed.push_back(memory);
    return Region{memory, {}};
  }
  void retract(const Region&) override {}
  std::size_t post(std::span<const TxOp>) override { return 0; }
  std::size_t poll(Instant, std::span<Completion>) override { return 0; }
  WaitHint prepare_wait(Instant) override { return {}; }

  std::vector<std::span<std::byte>> exposed;  ///< of each pair its ring and its descriptors

 private:
  FabricLimits limits_;
};

class ComputeProgress : public testing::Test {
 protected:
  ComputeProgress() {
    options_.inputs = 2;
    options_.computes = 1;
    options_.sinks = {"null:"};
    options_.sink_in_loop = true;
    node_ = make_compute_node(options_, 0, false, fabric_).value();
    for (const std::uint32_t input : {0u, 1u}) {
      node_->on_completion(
          now_,
          {.kind = CompletionKind::peer_up, .peer = NodeId(input), .incarnation = Incarnation(1)});
    }
    const IndexSet inputs(2, true), computes(1, true), forgotten(1);
    receive(0,
            Prepare{.number = 2, .inputs = inputs, .computes = computes, .forgotten = forgotten});
    receive(0, View{.number = 2, .inputs = inputs, .computes = computes, .forgotten = forgotten});
  }
  template <class Message>
  void receive(std::uint32_t from, const Message& message) {
    std::array<std::byte, 4096> memory{};
    wire::Writer writer(memory);
    encode(message, writer);
    Completion c{.kind = CompletionKind::received, .peer = NodeId(from)};
    c.data = std::span(memory).first(writer.size());
    node_->on_completion(now_, c);
    work();
  }
  void work() {
    Outbox out;
    node_->work(now_, out);
  }
  /// The input node's contribution to timeslice 0.
  void contribute(std::uint32_t input) {
    const ContributionDescriptor d{
        .timeslice = 0, .position = 0, .size = 1 << 10, .microslices = 0};
    std::memcpy(fabric_.exposed[std::size_t{2} * input + 1].data(), &d, sizeof d);
    receive(input, Written{.view = 2, .descriptors = 1});
  }

  StreamOptions options_;
  MemoryFabric fabric_;
  std::unique_ptr<StreamNode> node_;
  Instant now_{};
};

/// Samples come as seldom as the user likes, and a slow stream builds nothing for a while.
TEST_F(ComputeProgress, keeps_what_was_measured_last) {
  contribute(0);
  node_->sample(now_);
  now_ = now_ + Duration::microseconds(30);
  contribute(1);
  const StreamProgress first = node_->progress();
  EXPECT_EQ(first.timeslices, 1u);
  EXPECT_GT(first.buffer_fill, 0);
  EXPECT_EQ(first.spread_us, 30);
  const StreamProgress later = node_->progress();
  EXPECT_EQ(later.buffer_fill, first.buffer_fill) << "no sample since";
  EXPECT_EQ(later.spread_us, first.spread_us) << "no timeslice since";
  work();
  node_->sample(now_);
  EXPECT_LT(node_->progress().buffer_fill, first.buffer_fill) << "the sink let it go";
}

/// A report keeps each 2nd, 4th, … value of a long run.
TEST_F(ComputeProgress, samples_all_rings_alike_in_a_long_run) {
  for (int i = 0; i < 20'000; ++i) node_->sample(now_);
  std::array<std::size_t, 2> of_input{};
  for (const auto& fill : node_->report().fills) ++of_input.at(fill.input);
  EXPECT_GT(of_input[0], 1000u);
  EXPECT_GT(of_input[1], 1000u);
}

TEST(of_late, numbers_are_of_what_came_since_the_last_question) {
  MeanOfLate mean;
  MedianOfLate median(3);
  EXPECT_EQ(mean.take() + median.take(), 0) << "nothing yet";
  for (const double value : {10, 1, 2, 3}) {
    mean.add(value);
    median.add(value);
  }
  EXPECT_EQ(mean.take(), 4);
  EXPECT_EQ(median.take(), 2) << "of the first three";
  mean.add(7);
  median.add(7);
  EXPECT_EQ(mean.take(), 7);
  EXPECT_EQ(median.take(), 7);
  EXPECT_EQ(mean.take(), 7);
  EXPECT_EQ(median.take(), 7);
}

}  // namespace
}  // namespace weft::stream
