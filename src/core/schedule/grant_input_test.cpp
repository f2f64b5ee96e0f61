// SPDX-License-Identifier: Apache-2.0
// The input node's part of the schedule grant.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/rng.hpp"
#include "core/schedule/grant.hpp"
#include "core/schedule/grant_messages.hpp"

namespace weft::schedule {
namespace {

class Ready final : public SendState {
 public:
  Readiness answer = Readiness::sendable;
  Readiness readiness(TimesliceIndex) const override { return answer; }
};

void give(GrantInput& input, std::uint64_t round, std::uint32_t from, std::uint32_t wish = 0,
          bool tell = false) {
  std::byte bytes[1 + 8 + 4] = {};  // kind, round, number of grants
  bytes[0] = std::byte{tell};
  std::memcpy(bytes + 1, &round, 8);
  std::memcpy(bytes + 9, &wish, 4);
  input.on_message(Instant{}, from, bytes);
}

std::vector<std::uint64_t> send_all(GrantInput& input) {
  Ready state;
  std::vector<std::uint64_t> sent;
  for (;;) {
    const Choice choice = input.choose(Instant{}, state);
    if (choice.kind != Choice::Kind::send) return sent;
    sent.push_back(choice.timeslice.value());
    input.on_started(Instant{}, choice.timeslice);
  }
}

TEST(granted_input, sends_a_first_round_unasked_beginning_with_its_own_number) {
  GrantInput input(1, 3, 1);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 3});
  EXPECT_EQ(send_all(input), (std::vector<std::uint64_t>{1, 2, 0}));
}

TEST(granted_input, sends_several_rounds_unasked_where_nodes_decide) {
  GrantInput input(1, 3, 2);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 3});
  EXPECT_EQ(send_all(input), (std::vector<std::uint64_t>{1, 2, 0, 4, 5, 3}));
}

TEST(granted_input, sends_what_was_granted_and_nothing_else) {
  GrantInput input(0, 2, 1);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  EXPECT_EQ(send_all(input), (std::vector<std::uint64_t>{0, 1}));
  give(input, 3, 1);
  give(input, 2, 0);
  give(input, 2, 0);
  give(input, 1, 1);
  EXPECT_EQ(send_all(input), (std::vector<std::uint64_t>{3, 2, 5}))
      << "the oldest round first, then who asked first; a grant twice, or an older one, is nothing";
}

constexpr std::uint64_t end_of_stream = 400;

/// What becomes of contributions: some compute nodes have no room, some contributions are started
/// already, and the stream ends.
class SomeCanBeSent final : public SendState {
 public:
  explicit SomeCanBeSent(std::uint32_t computes) : lacks(computes), below(computes) {}
  std::vector<std::uint8_t> lacks;   // by compute node: no room
  std::vector<std::uint64_t> below;  // by compute node: timeslices below are started
  Readiness readiness(TimesliceIndex t) const override {
    const std::size_t c = t.value() % lacks.size();
    if (t.value() >= end_of_stream) return Readiness::after_end;
    if (t.value() < below[c]) return Readiness::started;
    return lacks[c] ? Readiness::no_credit : Readiness::sendable;
  }
};

/// The next contribution, found by asking about all.
class AllAsked {
 public:
  AllAsked(std::uint32_t self, std::uint32_t computes) : computes_(computes) {
    for (std::uint32_t k = 0; k < computes; ++k) computes_[(self + k) % computes].order = k;
  }
  void on_grant(std::uint32_t c, std::uint64_t round) {
    Compute& compute = computes_[c];
    if (round <= compute.granted) return;
    if (compute.next >= compute.granted) compute.order = ++orders_;
    compute.granted = round;
  }
  /// The first that can be sent; or else the first of all, which is waited for.
  Choice next(const SendState& state) {
    std::optional<std::uint32_t> best, first;
    for (std::uint32_t c = 0; c < computes_.size(); ++c) {
      Compute& compute = computes_[c];
      while (waits(c) && state.readiness(timeslice(c)) == Readiness::started) ++compute.next;
      if (waits(c) && state.readiness(timeslice(c)) == Readiness::after_end) compute.next = never;
      if (!waits(c)) continue;
      if (!first || is_before(c, *first)) first = c;
      const bool can_be_sent = state.readiness(timeslice(c)) == Readiness::sendable;
      if (can_be_sent && (!best || is_before(c, *best))) best = c;
    }
    if (best) return {.kind = Choice::Kind::send, .timeslice = timeslice(*best)};
    return {.timeslice = first ? timeslice(*first) : TimesliceIndex{}};
  }
  void on_started(TimesliceIndex t) { ++computes_[t.value() % computes_.size()].next; }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  struct Compute {
    std::uint64_t granted = 1, next = 0, order = 0;
  };
  bool waits(std::uint32_t c) const { return computes_[c].next < computes_[c].granted; }
  bool is_before(std::uint32_t a, std::uint32_t b) const {
    return std::tie(computes_[a].next, computes_[a].order) <
           std::tie(computes_[b].next, computes_[b].order);
  }
  TimesliceIndex timeslice(std::uint32_t c) const {
    return TimesliceIndex(computes_[c].next * computes_.size() + c);
  }
  std::vector<Compute> computes_;
  std::uint64_t orders_ = 1000;
};

/// A view in which grants and room come and go.
void compare_with_all_asked(Rng& rng, GrantInput& input, std::uint32_t self,
                            std::uint32_t computes) {
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = computes});
  AllAsked expected(self, computes);
  SomeCanBeSent state(computes);
  std::vector<std::uint64_t> granted(computes, 1);
  for (int step = 0; step < 300; ++step) {
    const auto c = static_cast<std::uint32_t>(rng.below(computes));
    switch (rng.below(5)) {
      case 0:
      case 1:
        granted[c] += rng.below(4);
        give(input, granted[c], c);
        expected.on_grant(c, granted[c]);
        break;
      case 2:
        state.lacks[c] ^= 1;
        break;
      case 3:
        if (rng.below(8) == 0) state.below[c] += rng.below(4ul * computes);
        break;
      default:
        break;
    }
    const Choice choice = input.choose(Instant{}, state);
    const Choice all = expected.next(state);
    ASSERT_EQ(choice.kind, all.kind) << "step " << step;
    ASSERT_EQ(choice.timeslice, all.timeslice) << "step " << step;
    if (choice.kind == Choice::Kind::wait) continue;
    input.on_started(Instant{}, choice.timeslice);
    expected.on_started(all.timeslice);
  }
}

TEST(granted_input, sends_the_oldest_round_that_can_be_sent_whatever_was_granted_when) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto most = static_cast<std::uint32_t>(1 + rng.below(9));
    const auto self = static_cast<std::uint32_t>(rng.below(20));
    GrantInput input(self, most, 1);
    compare_with_all_asked(rng, input, self, most);
    compare_with_all_asked(rng, input, self, static_cast<std::uint32_t>(1 + rng.below(most)));
    if (HasFatalFailure()) return;
  }
}

TEST(granted_input, says_again_what_never_comes_when_a_connection_is_back) {
  GrantInput input(0, 2, 1);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  Ready state;
  state.answer = Readiness::after_end;
  EXPECT_EQ(input.choose(Instant{}, state).kind, Choice::Kind::wait);
  MessageBox box(4);
  input.write_messages(Instant{}, box);
  EXPECT_EQ(box.size(), 2u) << "one for each compute node";
  box.clear();
  input.on_reconnected(1);
  input.write_messages(Instant{}, box);
  ASSERT_EQ(box.size(), 1u);
  EXPECT_EQ(box[0].to, 1u);
  EXPECT_EQ(box[0].bytes[0], std::byte(GrantKind::ended));
}

TEST(granted_input, tells_who_wants_to_know_how_many_grants_are_agreed_on) {
  GrantInput input(0, 2, 1);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  give(input, 2, 0, 16 * 3);
  give(input, 2, 1, 16 * 5, true);
  MessageBox box(4);
  input.write_messages(Instant{}, box);
  ASSERT_EQ(box.size(), 1u);
  EXPECT_EQ(box[0].to, 1u);
  EXPECT_EQ(box[0].bytes[0], std::byte(GrantKind::agreed));
  EXPECT_EQ(box[0].bytes[9], std::byte{5});
  box.clear();
  input.write_messages(Instant{}, box);
  EXPECT_TRUE(box.empty()) << "it has been told";
}

TEST(granted_input, declines_what_is_after_its_end) {
  GrantInput input(0, 2, 1);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  (void)send_all(input);
  Ready state;
  state.answer = Readiness::after_end;
  give(input, 5, 1);
  EXPECT_EQ(input.choose(Instant{}, state).kind, Choice::Kind::wait);
  MessageBox box(4);
  input.write_messages(Instant{}, box);
  ASSERT_EQ(box.size(), 1u);
  EXPECT_EQ(box[0].to, 1u);
  EXPECT_EQ(box[0].bytes[0], std::byte(GrantKind::ended));
  EXPECT_EQ(box[0].bytes[1], std::byte{1}) << "round 1 is the first that it has nothing for";
  EXPECT_EQ(input.choose(Instant{}, state).kind, Choice::Kind::wait);
  box.clear();
  input.write_messages(Instant{}, box);
  EXPECT_TRUE(box.empty());
}

}  // namespace
}  // namespace weft::schedule
