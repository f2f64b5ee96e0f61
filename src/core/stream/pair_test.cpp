// SPDX-License-Identifier: Apache-2.0
// Both sides of one pair, without a fabric between them.
#include <gtest/gtest.h>

#include <vector>

#include "core/stream/pair_receiver.hpp"
#include "core/stream/pair_sender.hpp"

namespace weft::stream {
namespace {

constexpr std::size_t ring = 100;
constexpr std::size_t slots = 4;

class pair_of_nodes : public ::testing::Test {
 protected:
  pair_of_nodes() {
    PairMemory pair{.data = {data_.data(), ring}, .descriptors = descriptors_};
    pair.data_region = {.key = 1, .base = 0, .length = ring};
    pair.descriptor_region = {.key = 2, .base = 0, .length = descriptors_.size()};
    receiver_.emplace(pair);
    receiver_->restart(7);
    sender_.open(receiver_->hello(), 519);
  }

  /// Starts a contribution and carries its writes out, as a fabric would.
  void send(std::uint64_t timeslice, std::uint32_t size) {
    const std::vector<std::byte> content(size, static_cast<std::byte>(timeslice));
    ContributionDescriptor d{.timeslice = timeslice, .size = size};
    sender_.start(Instant(5), d, {std::span(content), {}}, ServiceLevel{}, out_);
    for (const TxOp& op : out_.tx.view()) {
      std::byte* target = op.region.key == 1 ? data_.data() : descriptors_.data();
      std::size_t at = op.region_offset;
      for (const auto& segment : op.segments) {
        std::copy(segment.begin(), segment.end(), target + at);
        at += segment.size();
      }
      writes_.push_back(op.size());
      sender_.write_completed(PairSender::record_of(op.context));
    }
    out_.posted(out_.tx.size());
    // The second mapping of the ring.
    std::copy_n(data_.begin(), ring, data_.begin() + ring);
  }
  PairReceiver::Accepted announce() {
    return receiver_->on_written({.view = 7, .descriptors = sender_.written()});
  }

  std::vector<std::byte> data_ = std::vector<std::byte>(2 * ring);
  std::vector<std::byte> descriptors_ =
      std::vector<std::byte>(slots * sizeof(ContributionDescriptor));
  std::optional<PairReceiver> receiver_;
  PairSender sender_{NodeId(9), 3};
  Outbox out_;
  std::vector<std::size_t> writes_;
};

TEST_F(pair_of_nodes, an_eighth_of_the_ring_that_is_free_again_is_much_credit) {
  send(0, 5);
  ASSERT_EQ(announce(), PairReceiver::Accepted::yes);
  ASSERT_TRUE(receiver_->take_arrival());
  EXPECT_FALSE(receiver_->owes_much_credit()) << "nothing was consumed";
  receiver_->release(0);
  EXPECT_TRUE(receiver_->owes_much_credit()) << "one of four descriptors";
  receiver_->told_credit();
  EXPECT_FALSE(receiver_->owes_much_credit());
}

TEST_F(pair_of_nodes, a_contribution_at_the_end_of_the_ring_is_written_in_two) {
  send(0, 70);
  ASSERT_EQ(announce(), PairReceiver::Accepted::yes);
  receiver_->release(receiver_->take_arrival()->record);
  ASSERT_TRUE(sender_.on_credit(receiver_->credit()));
  while (sender_.take_acknowledged()) {
  }
  EXPECT_EQ(sender_.take_consumed(), TimesliceIndex(0));
  writes_.clear();
  send(1, 50);
  EXPECT_EQ(writes_, (std::vector<std::size_t>{30, 20, 20})) << "30 to the end, 20, descriptor";
  ASSERT_EQ(announce(), PairReceiver::Accepted::yes);
  const auto arrival = receiver_->take_arrival();
  ASSERT_TRUE(arrival);
  for (const std::byte b : receiver_->content(arrival->position, 50)) ASSERT_EQ(b, std::byte{1});
}

TEST_F(pair_of_nodes, a_write_says_of_which_pair_view_and_record_it_is) {
  const std::vector<std::byte> content(10);
  for (std::uint64_t record = 0; record < 2; ++record) {
    sender_.start(Instant(5), {.timeslice = record, .size = 10}, {std::span(content), {}},
                  ServiceLevel{}, out_);
    for (const TxOp& op : out_.tx.view()) {
      EXPECT_TRUE(PairSender::is_write(op.context));
      EXPECT_EQ(PairSender::pair_of(op.context), 3u);
      EXPECT_EQ(PairSender::record_of(op.context), record);
      EXPECT_TRUE(PairSender::is_of_view(op.context, 519));
      EXPECT_FALSE(PairSender::is_of_view(op.context, 520));
    }
    out_.posted(out_.tx.size());
  }
  EXPECT_FALSE(PairSender::is_write(TxOp{}.context)) << "a message's";
}

TEST_F(pair_of_nodes, credit_is_bytes_and_descriptors) {
  EXPECT_TRUE(sender_.has_credit(100));
  EXPECT_FALSE(sender_.has_credit(101));
  for (std::uint64_t t = 0; t < slots; ++t) send(t, 1);
  EXPECT_FALSE(sender_.has_credit(1)) << "all descriptors are in use";
}

TEST_F(pair_of_nodes, places_are_freed_in_order_of_writing) {
  send(0, 10);
  send(1, 10);
  ASSERT_EQ(announce(), PairReceiver::Accepted::yes);
  (void)receiver_->take_arrival();
  (void)receiver_->take_arrival();
  receiver_->release(1);
  EXPECT_EQ(receiver_->credit().released, 0u);
  receiver_->release(0);
  EXPECT_EQ(receiver_->credit().released, 2u);
  EXPECT_EQ(receiver_->credit().released_bytes, 20u);
  EXPECT_TRUE(receiver_->drained());
}

TEST_F(pair_of_nodes, counts_that_cannot_be_are_refused) {
  EXPECT_EQ(receiver_->on_written({.view = 7, .descriptors = slots + 1}),
            PairReceiver::Accepted::refused);
  EXPECT_EQ(receiver_->on_written({.view = 6, .descriptors = 1}), PairReceiver::Accepted::ignored);
  send(0, 10);
  EXPECT_FALSE(sender_.on_credit({.view = 7, .received = 2}));
  EXPECT_FALSE(sender_.on_credit({.view = 7, .received = 1, .released = 1, .released_bytes = 11}));
}

TEST_F(pair_of_nodes, a_descriptor_that_contradicts_the_ring_closes_the_pair) {
  send(0, 10);
  ContributionDescriptor lie{.timeslice = 0, .position = 0, .size = ring + 1};
  std::memcpy(descriptors_.data(), &lie, sizeof lie);
  ASSERT_EQ(announce(), PairReceiver::Accepted::yes);
  EXPECT_FALSE(receiver_->take_arrival());
  EXPECT_TRUE(receiver_->corrupt());
}

// A ring of 8 GiB that nobody touches: positions go beyond 32 bits, contents are not looked at.
TEST(pair_of_nodes_with_a_large_ring, positions_beyond_4_gib_are_kept) {
  constexpr std::uint64_t large_ring = std::uint64_t{8} << 30;
  std::vector<std::byte> descriptors(slots * sizeof(ContributionDescriptor));
  PairMemory pair{.data = {nullptr, large_ring}, .descriptors = descriptors};
  pair.data_region = {.key = 1, .base = 0, .length = large_ring};
  pair.descriptor_region = {.key = 2, .base = 0, .length = descriptors.size()};
  PairReceiver receiver(pair);
  receiver.restart(1);
  PairSender sender(NodeId(9), 3);
  sender.open(receiver.hello(), 1);
  Outbox out;
  constexpr std::uint64_t size = largest_contribution;
  for (std::uint64_t t = 0; t < 20; ++t) {
    ASSERT_TRUE(sender.has_credit(size));
    // Never read: only its length counts.
    const std::span<const std::byte> content(descriptors.data(), size);
    sender.start(Instant(5), {.timeslice = t, .size = static_cast<std::uint32_t>(size)},
                 {content, {}}, ServiceLevel{}, out);
    EXPECT_EQ(out.tx.view()[0].region_offset, t * size % large_ring);
    const TxOp& descriptor = out.tx.view()[out.tx.size() - 1];
    std::copy(descriptor.segments[0].begin(), descriptor.segments[0].end(),
              descriptors.begin() + static_cast<std::ptrdiff_t>(descriptor.region_offset));
    for (const TxOp& op : out.tx.view()) {
      sender.write_completed(PairSender::record_of(op.context));
    }
    out.posted(out.tx.size());
    ASSERT_EQ(receiver.on_written({.view = 1, .descriptors = sender.written()}),
              PairReceiver::Accepted::yes);
    const auto arrival = receiver.take_arrival();
    ASSERT_TRUE(arrival) << "timeslice " << t;
    EXPECT_EQ(arrival->position, t * size);
    receiver.release(arrival->record);
    ASSERT_TRUE(sender.on_credit(receiver.credit()));
    ASSERT_TRUE(sender.take_acknowledged());
    ASSERT_EQ(sender.take_consumed(), TimesliceIndex(t));
  }
}

}  // namespace
}  // namespace weft::stream
