// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/messages.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "core/schedule/dfs/arithmetic.hpp"

namespace weft::schedule::dfs {
namespace {

std::span<const std::byte> bytes_of(const Message& m) {
  return {m.bytes.data(), m.size};
}

Report good_report() {
  return {.grid_first = TimesliceIndex(100),
          .interval = IntervalId(107),
          .start = Instant(1'000'000),
          .duration = Duration(250'000),
          .proposed = Duration(240'000),
          .latency = Duration(1'500),
          .requested = IntervalId(109)};
}

Proposal good_proposal() {
  return {.grid_first = TimesliceIndex(100),
          .interval = IntervalId(109),
          .first_timeslice = TimesliceIndex(388),
          .rounds = 8,
          .start = Instant(-5),
          .duration = Duration(240'000),
          .spacing = Duration(250'000)};
}

TEST(dfs_messages, hello_comes_back_as_sent) {
  Message m;
  encode(Hello{.grid_first = TimesliceIndex(7), .start = Instant(42)}, m);
  EXPECT_EQ(m.size, Hello::size);
  const auto decoded = decode(bytes_of(m));
  const auto* h = std::get_if<Hello>(&decoded);
  ASSERT_NE(h, nullptr);
  EXPECT_EQ(h->grid_first, TimesliceIndex(7));
  EXPECT_EQ(h->start, Instant(42));
}

TEST(dfs_messages, report_comes_back_as_sent) {
  Message m;
  encode(good_report(), m);
  EXPECT_EQ(m.size, Report::size);
  const auto decoded = decode(bytes_of(m));
  const auto* r = std::get_if<Report>(&decoded);
  ASSERT_NE(r, nullptr);
  EXPECT_EQ(r->grid_first, TimesliceIndex(100));
  EXPECT_EQ(r->interval, IntervalId(107));
  EXPECT_EQ(r->start, Instant(1'000'000));
  EXPECT_EQ(r->duration, Duration(250'000));
  EXPECT_EQ(r->proposed, Duration(240'000));
  EXPECT_EQ(r->latency, Duration(1'500));
  EXPECT_EQ(r->requested, IntervalId(109));
}

TEST(dfs_messages, proposal_comes_back_as_sent) {
  Message m;
  encode(good_proposal(), m);
  EXPECT_EQ(m.size, Proposal::size);
  const auto decoded = decode(bytes_of(m));
  const auto* p = std::get_if<Proposal>(&decoded);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(p->interval, IntervalId(109));
  EXPECT_EQ(p->first_timeslice, TimesliceIndex(388));
  EXPECT_EQ(p->rounds, 8u);
  EXPECT_EQ(p->start, Instant(-5));
  EXPECT_EQ(p->duration, Duration(240'000));
  EXPECT_EQ(p->spacing, Duration(250'000));
}

// Known mistake of a public implementation: messages that embed arrays of inputs × computes.
TEST(dfs_messages, have_a_constant_size_below_that_of_the_papers_sync_message) {
  EXPECT_LE(Hello::size, 87u);
  EXPECT_LE(Report::size, 87u);
  EXPECT_LE(Proposal::size, 87u);
}

TEST(dfs_messages, every_other_length_is_refused) {
  Message m;
  encode(good_report(), m);
  for (std::uint32_t n = 0; n <= Message::capacity; ++n) {
    if (n == Report::size) continue;
    EXPECT_EQ(decode({m.bytes.data(), n}).index(), 0u) << n;
  }
}

TEST(dfs_messages, impossible_values_are_refused) {
  const auto refused = [](const auto& message) {
    Message m;
    encode(message, m);
    return decode(bytes_of(m)).index() == 0;
  };
  Report r = good_report();
  r.duration = Duration(-1);
  EXPECT_TRUE(refused(r));
  r = good_report();
  r.duration = longest_duration + Duration(1);
  EXPECT_TRUE(refused(r));
  r = good_report();
  r.start = Instant::never();
  EXPECT_TRUE(refused(r));
  r = good_report();
  r.requested = r.interval;
  EXPECT_TRUE(refused(r));
  r = good_report();
  r.interval = IntervalId(99);  // before its grid
  EXPECT_TRUE(refused(r));
  Proposal p = good_proposal();
  p.duration = Duration{};
  EXPECT_TRUE(refused(p));
  p = good_proposal();
  p.rounds = 0;
  EXPECT_TRUE(refused(p));
}

TEST(dfs_messages, random_bytes_never_harm) {
  constexpr std::uint64_t seed = 20'190'301;
  Rng rng(seed);
  for (int i = 0; i < 20'000; ++i) {
    Message m;
    const auto n = rng.below(Message::capacity + 1);
    for (std::size_t b = 0; b < n; ++b) m.bytes[b] = static_cast<std::byte>(rng.below(256));
    if (n > 0) m.bytes[0] = static_cast<std::byte>(rng.below(5));
    (void)decode({m.bytes.data(), n});
  }
  SCOPED_TRACE("seed " + std::to_string(seed));
}

}  // namespace
}  // namespace weft::schedule::dfs
