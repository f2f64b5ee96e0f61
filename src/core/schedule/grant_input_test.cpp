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
  GrantInput input(1, 3);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 3});
  EXPECT_EQ(send_all(input), (std::vector<std::uint64_t>{1, 2, 0}));
}

TEST(granted_input, sends_several_rounds_unasked_where_nodes_decide) {
  GrantInput input(1, 3, 2);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 3});
  EXPECT_EQ(send_all(input), (std::vector<std::uint64_t>{1, 2, 0, 4, 5, 3}));
}

TEST(granted_input, sends_what_was_granted_and_nothing_else) {
  GrantInput input(0, 2);
  input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = 2});
  EXPECT_EQ(send_all(input), (std::vector<std::uint64_t>{0, 1}));
  give(input, 3, 1);
  give(input, 2, 0);
  give(input, 2, 0);
  give(input, 1, 1);
  EXPECT_EQ(send_all(input), (std::vector<std::uint64_t>{3, 2, 5}))
      << "the oldest round first, then who asked first; a grant twice, or an older one, is nothing";
}

/// Which contribution is next, found by asking about all.
class AllAsked {
 public:
  explicit AllAsked(std::uint32_t computes) : computes_(computes) {
    for (std::uint32_t c = 0; c < computes; ++c) computes_[c].order = c;
  }
  void on_grant(std::uint32_t c, std::uint64_t round) {
    Compute& compute = computes_[c];
    if (round <= compute.granted) return;
    if (compute.next >= compute.granted) compute.order = ++orders_;
    compute.granted = round;
  }
  std::optional<std::uint64_t> next(const SendState& state) const {
    std::optional<std::uint32_t> best;
    for (std::uint32_t c = 0; c < computes_.size(); ++c) {
      if (computes_[c].next >= computes_[c].granted) continue;
      if (state.readiness(TimesliceIndex{timeslice(c)}) != Readiness::sendable) continue;
      if (!best || std::tie(computes_[c].next, computes_[c].order) <
                       std::tie(computes_[*best].next, computes_[*best].order)) {
        best = c;
      }
    }
    if (!best) return std::nullopt;
    return timeslice(*best);
  }
  void on_started(std::uint64_t t) { ++computes_[t % computes_.size()].next; }

 private:
  struct Compute {
    std::uint64_t granted = 1, next = 0, order = 0;
  };
  std::uint64_t timeslice(std::uint32_t c) const {
    return computes_[c].next * computes_.size() + c;
  }
  std::vector<Compute> computes_;
  std::uint64_t orders_ = 1000;
};

class SomeLackCredit final : public SendState {
 public:
  explicit SomeLackCredit(std::uint32_t computes) : lacks(computes) {}
  std::vector<std::uint8_t> lacks;
  Readiness readiness(TimesliceIndex t) const override {
    return lacks[t.value() % lacks.size()] ? Readiness::no_credit : Readiness::sendable;
  }
};

TEST(granted_input, sends_the_oldest_round_that_can_be_sent_whatever_was_granted_when) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto computes = static_cast<std::uint32_t>(1 + rng.below(9));
    GrantInput input(0, computes);
    input.on_grid(Instant{}, {.first = TimesliceIndex{}, .computes = computes});
    AllAsked expected(computes);
    SomeLackCredit state(computes);
    std::vector<std::uint64_t> granted(computes, 1);
    for (int step = 0; step < 300; ++step) {
      const auto c = static_cast<std::uint32_t>(rng.below(computes));
      if (rng.below(3) == 0) {
        granted[c] += rng.below(4);
        give(input, granted[c], c);
        expected.on_grant(c, granted[c]);
      } else if (rng.below(2) == 0) {
        state.lacks[c] ^= 1;
      }
      const Choice choice = input.choose(Instant{}, state);
      const auto next = expected.next(state);
      ASSERT_EQ(choice.kind == Choice::Kind::send, next.has_value()) << "step " << step;
      if (!next) continue;
      ASSERT_EQ(choice.timeslice.value(), *next) << "step " << step;
      input.on_started(Instant{}, choice.timeslice);
      expected.on_started(*next);
    }
  }
}

TEST(granted_input, tells_who_wants_to_know_how_many_grants_are_agreed_on) {
  GrantInput input(0, 2);
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
  GrantInput input(0, 2);
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
