// SPDX-License-Identifier: Apache-2.0
// What the module does between a program and its provider, on a clock that stands still.
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "emulate/libfabric/addresses.hpp"
#include "emulate/libfabric/messages.hpp"
#include "emulate/libfabric/one_sided.hpp"

namespace weft::emulate::libfabric {

unsigned rank_of(const fid_ep* /*endpoint*/, fi_addr_t to) {
  return static_cast<unsigned>(to);
}

namespace {

constexpr Picoseconds kMicrosecond = 1'000'000;
constexpr Picoseconds kSecond = 1'000'000 * kMicrosecond;
constexpr std::uint64_t kRate = 1'000;  // B/s of the links that are limited

ssize_t answer = 0;  // the provider's, to each message
ssize_t provider_send(fid_ep* /*ep*/, const void* /*from*/, std::size_t /*bytes*/, void* /*desc*/,
                      fi_addr_t /*to*/, void* /*context*/) {
  return answer;
}

std::deque<fid_ep> endpoints;

/// Rank 0 of three, with links of its own to rank 1 (number 1) and to rank 2 (number 2).
class module_on_libfabric : public ::testing::Test {
 protected:
  module_on_libfabric() {
    block_->clock = {0, 0};
    block_->pair_count = 3;
    for (const std::uint16_t to : {1, 2}) {
      block_->paths[to] = {.latency = 0, .links = {to}, .hops = 1};
    }
    process = {block_.get(), &block_->process[0], 0};
    answer = 0;
    messages_.size = sizeof messages_;
    messages_.send = provider_send;
    endpoint_->msg = &messages_;
    take_over_messages(endpoint_);
  }
  ssize_t send(fi_addr_t to, std::size_t bytes) {
    return endpoint_->msg->send(endpoint_, nullptr, bytes, nullptr, to, nullptr);
  }
  OneSided operation(fi_addr_t to, std::uint64_t bytes) const {
    return {endpoint_, to, 0, 0, bytes};
  }
  /// When the next message of so many bytes to that rank has left its links.
  Picoseconds departure_to(unsigned rank, std::uint64_t bytes) {
    SentNote note{};
    EXPECT_TRUE(block_->notes[rank].take({bytes, 0, 0}, note));
    return note.departure;
  }

  std::unique_ptr<ControlBlock> block_ = std::make_unique<ControlBlock>();
  // The module remembers endpoints, and contexts, from one test to the next.
  fid_ep* endpoint_ = &endpoints.emplace_back();
  const void* context_ = endpoint_;
  fi_ops_msg messages_{};
};

TEST_F(module_on_libfabric, a_write_that_waits_for_its_link_keeps_none_to_another_peer) {
  block_->link_rates[1] = kRate;
  EXPECT_FALSE(may_write(operation(1, 1'000)));
  EXPECT_EQ(next_write(), kSecond);
  EXPECT_FALSE(may_write(operation(1, 2'000)));
  EXPECT_TRUE(may_write(operation(2, 1'000)));
  note_written(operation(2, 1'000), context_, 0);
  EXPECT_FALSE(may_write(operation(1, 1'000)));
  EXPECT_EQ(next_write(), kSecond);
  EXPECT_EQ(block_->links[1].free_from(), kSecond);
}

TEST_F(module_on_libfabric, a_read_takes_two_latencies_more_than_the_provider) {
  block_->knobs.latency = 10 * kMicrosecond;
  note_read(operation(1, 8), context_, 0);
  const Look look{.looked = 29 * kMicrosecond, .seen = 30 * kMicrosecond};
  EXPECT_EQ(due_of_completed(context_, look, 0), 50 * kMicrosecond);
  // A program that computed meanwhile sees it late by itself.
  note_read(operation(1, 8), context_, 0);
  const Look late{.looked = 0, .seen = 90 * kMicrosecond};
  EXPECT_EQ(due_of_completed(context_, late, 0), 90 * kMicrosecond);
}

TEST_F(module_on_libfabric, a_write_without_a_completion_leaves_its_time_to_no_other) {
  ASSERT_TRUE(may_write(operation(1, 8)));
  note_written(operation(1, 8), &padding_context, 0);
  EXPECT_EQ(due_of_completed(&padding_context, {0, 5}, 77), 77);
}

TEST_F(module_on_libfabric, refused_messages_to_two_peers_pay_their_own_links_once) {
  block_->link_rates[1] = block_->link_rates[2] = kRate;
  answer = -FI_EAGAIN;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(send(1, 1'000), -FI_EAGAIN);
    EXPECT_EQ(send(2, 1'000), -FI_EAGAIN);
  }
  answer = 0;
  EXPECT_EQ(send(1, 1'000), 0);
  EXPECT_EQ(send(2, 1'000), 0);
  EXPECT_EQ(departure_to(1, 1'000), kSecond);
  EXPECT_EQ(departure_to(2, 1'000), kSecond);
  EXPECT_EQ(block_->links[1].free_from(), kSecond);
  EXPECT_EQ(block_->links[2].free_from(), kSecond);
  EXPECT_EQ(send(1, 1'000), 0);
  EXPECT_EQ(departure_to(1, 1'000), 2 * kSecond);
}

TEST_F(module_on_libfabric, a_message_in_place_of_a_refused_one_leaves_no_sooner) {
  block_->link_rates[1] = kRate;
  answer = -FI_EAGAIN;
  EXPECT_EQ(send(1, 1'000), -FI_EAGAIN);
  answer = 0;
  EXPECT_EQ(send(1, 600), 0);
  EXPECT_EQ(departure_to(1, 600), kSecond);
  EXPECT_EQ(send(1, 400), 0);
  EXPECT_EQ(departure_to(1, 400), kSecond);
  EXPECT_EQ(send(1, 1'000), 0);
  EXPECT_EQ(departure_to(1, 1'000), 2 * kSecond);
}

TEST_F(module_on_libfabric, messages_of_one_sender_stay_in_order_and_wait_for_no_other) {
  const auto arrives = [&](std::uint64_t sender, Picoseconds latency) {
    block_->notes[0].add({8, 0, 0},
                         {.sent = 0, .departure = 0, .latency = latency, .sender = sender});
    return due_of_message({8, 0, 0}, {}, {.looked = 0, .seen = kMicrosecond});
  };
  EXPECT_EQ(arrives(1, 9 * kMicrosecond), 10 * kMicrosecond);
  EXPECT_EQ(arrives(2, 2 * kMicrosecond), 3 * kMicrosecond);
  EXPECT_EQ(arrives(1, 2 * kMicrosecond), 10 * kMicrosecond);
}

}  // namespace
}  // namespace weft::emulate::libfabric
