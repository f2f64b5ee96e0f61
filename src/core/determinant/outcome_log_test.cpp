// SPDX-License-Identifier: Apache-2.0
#include "core/determinant/outcome_log.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>

#include "base/rng.hpp"

namespace weft::determinant {
namespace {

std::vector<std::uint64_t> memory_of(std::size_t bytes) {
  return std::vector<std::uint64_t>(bytes / 8);
}
std::span<std::byte> bytes_of(std::vector<std::uint64_t>& memory) {
  return std::as_writable_bytes(std::span(memory));
}

TEST(outcome_log, a_first_life_replays_nothing) {
  auto memory = memory_of(256);
  OutcomeLog log(bytes_of(memory));
  EXPECT_FALSE(log.replays());
  EXPECT_TRUE(log.is_empty());
  EXPECT_EQ(log.post(), 1u);
  EXPECT_FALSE(log.fate_of_last_post().source);
}

TEST(outcome_log, questions_have_the_outcomes_of_the_earlier_life) {
  auto memory = memory_of(256);
  {
    OutcomeLog log(bytes_of(memory));
    log.miss();
    log.miss();
    log.record({.kind = Kind::yes});
    log.record({.kind = Kind::message, .source = 3, .tag = 9});
    log.miss();
    const std::array<std::uint32_t, 3> places{1, 2, 7};
    log.record_places(places);
    EXPECT_EQ(log.tell_time(5000), 5000u);
    log.miss();
  }
  OutcomeLog log(bytes_of(memory));
  EXPECT_EQ(log.replay(Kind::yes, true), nullptr);
  EXPECT_EQ(log.replay(Kind::yes, true), nullptr);
  EXPECT_EQ(log.replay(Kind::yes, true)->kind, Kind::yes);
  const Record* const found = log.replay(Kind::message, true);
  EXPECT_EQ(found->source, 3u);
  EXPECT_EQ(found->tag, 9);
  EXPECT_EQ(log.replay(Kind::some, true), nullptr);
  EXPECT_EQ(log.replay(Kind::some, true)->places, (std::vector<std::uint32_t>{1, 2, 7}));
  EXPECT_EQ(log.tell_time(7777), 5000u);
  EXPECT_TRUE(log.replays());
  EXPECT_EQ(log.replay(Kind::yes, true), nullptr);
  EXPECT_FALSE(log.replays());
  EXPECT_EQ(log.tell_time(4000), 5000u);  // another host's clock: time does not go back
  EXPECT_EQ(log.trouble(), Trouble::none);
}

TEST(outcome_log, a_receive_is_posted_for_the_sender_whose_message_it_took) {
  auto memory = memory_of(256);
  {
    OutcomeLog log(bytes_of(memory));
    for (int i = 0; i < 4; ++i) log.post();
    log.match(3, 7);
    log.record({.kind = Kind::cancel, .value = 4});
    log.match(1, 5);
  }
  OutcomeLog log(bytes_of(memory));
  log.post();
  EXPECT_EQ(log.fate_of_last_post().source, 5u);
  log.post();
  EXPECT_FALSE(log.fate_of_last_post().source);
  log.match(2, 6);  // while outcomes of the earlier life are left
  log.post();
  EXPECT_EQ(log.fate_of_last_post().source, 7u);
  log.post();
  EXPECT_TRUE(log.fate_of_last_post().is_cancelled);
  EXPECT_TRUE(log.replays());
  EXPECT_EQ(log.replay(Kind::cancel, false)->kind, Kind::cancel);
  EXPECT_FALSE(log.replays());

  OutcomeLog third(bytes_of(memory));
  third.post();
  third.post();
  EXPECT_EQ(third.fate_of_last_post().source, 6u);
}

TEST(outcome_log, another_question_than_that_of_the_earlier_life_is_a_divergence) {
  for (const bool misses : {false, true}) {
    auto memory = memory_of(256);
    {
      OutcomeLog log(bytes_of(memory));
      misses ? log.miss() : log.record({.kind = Kind::yes});
    }
    OutcomeLog log(bytes_of(memory));
    log.tell_time(1);
    EXPECT_EQ(log.trouble(), Trouble::diverged);
  }
}

TEST(outcome_log, a_log_that_is_full_says_so_to_the_next_life) {
  auto memory = memory_of(256);
  {
    OutcomeLog log(bytes_of(memory));
    for (int i = 0; i < 1000; ++i) log.record({.kind = Kind::yes});
    log.miss();
    EXPECT_TRUE(log.is_full());
    EXPECT_LE(log.bytes(), 256 - OutcomeLog::header_bytes);
  }
  EXPECT_EQ(OutcomeLog(bytes_of(memory)).trouble(), Trouble::incomplete);
}

TEST(outcome_log, a_log_that_was_stopped_says_so_to_the_next_life) {
  auto memory = memory_of(256);
  {
    OutcomeLog log(bytes_of(memory));
    log.record({.kind = Kind::yes});
    log.stop();
    log.record({.kind = Kind::yes});
  }
  OutcomeLog log(bytes_of(memory));
  EXPECT_EQ(log.trouble(), Trouble::unordered);
  EXPECT_FALSE(log.replays());
  OutcomeLog::clear(bytes_of(memory));
  EXPECT_EQ(OutcomeLog(bytes_of(memory)).trouble(), Trouble::none);
}

TEST(outcome_log, an_earlier_life_is_ahead_until_its_receives_and_questions_are_repeated) {
  auto memory = memory_of(256);
  {
    OutcomeLog log(bytes_of(memory));
    log.record({.kind = Kind::yes});
    log.match(log.post(), 1);
    EXPECT_FALSE(log.is_ahead());
  }
  OutcomeLog log(bytes_of(memory));
  EXPECT_NE(log.replay(Kind::yes, true), nullptr);
  EXPECT_FALSE(log.replays());
  EXPECT_TRUE(log.is_ahead());
  log.post();
  EXPECT_FALSE(log.is_ahead());
}

TEST(outcome_log, more_misses_than_the_header_can_count_are_all_replayed) {
  constexpr std::uint64_t many = (1u << 24) + 1000;
  auto memory = memory_of(256);
  {
    OutcomeLog log(bytes_of(memory));
    for (std::uint64_t i = 0; i < many; ++i) log.miss();
    EXPECT_LT(log.bytes(), 30u);
  }
  OutcomeLog log(bytes_of(memory));
  std::uint64_t replayed = 0;
  for (; log.replays(); ++replayed) ASSERT_EQ(log.replay(Kind::some, true), nullptr);
  EXPECT_EQ(replayed, many);
}

TEST(outcome_log, memory_that_is_no_log_is_damaged) {
  auto memory = memory_of(256);
  memory[0] = 17;
  EXPECT_EQ(OutcomeLog(bytes_of(memory)).trouble(), Trouble::damaged);
  auto other = memory_of(256);
  { OutcomeLog log(bytes_of(other)); }
  other[2] = 5u << 24;  // five bytes of zeros
  EXPECT_EQ(OutcomeLog(bytes_of(other)).trouble(), Trouble::damaged);
}

/// A program that asks at random, in lives that end at random. Outcomes are drawn when they are
/// recorded; each life has to meet those of the lives before.
TEST(outcome_log, every_life_meets_what_all_lives_before_it_met) {
  const char* one = std::getenv("WEFT_SEED");
  const std::uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const std::uint64_t last = one != nullptr ? first : 2'000;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const auto again =
        fmt::format("\nWEFT_SEED={} core_determinant_test --gtest_filter=outcome_log.every*", seed);
    Rng rng(seed);
    auto memory = memory_of(8192);
    std::vector<std::string> met;  // by question
    for (int life = 0; life < 4; ++life) {
      Rng program(seed + 1'000'000);  // the same in each life
      OutcomeLog log(bytes_of(memory));
      const std::size_t lasts = met.size() / 2 + rng.below(100);
      for (std::size_t question = 0; question < lasts; ++question) {
        const Kind kind = std::array{Kind::yes, Kind::message, Kind::some}[program.below(3)];
        std::string outcome = "nothing";
        if (log.replays()) {
          const Record* const found = log.replay(kind, true);
          if (found != nullptr) outcome = fmt::format("{} {}", found->source, found->places.size());
        } else if (rng.below(2) == 0) {
          log.miss();
        } else {
          Record record{.kind = kind};
          if (kind == Kind::message) record.source = static_cast<std::uint32_t>(rng.below(1000));
          if (kind == Kind::some) record.places.assign(1 + rng.below(3), 0);
          for (std::uint32_t i = 0; i < record.places.size(); ++i) record.places[i] = 2 * i;
          outcome = fmt::format("{} {}", record.source, record.places.size());
          log.record(record);
        }
        ASSERT_EQ(log.trouble(), Trouble::none) << again;
        if (question < met.size()) {
          ASSERT_EQ(outcome, met[question]) << "question " << question << again;
        } else {
          met.push_back(outcome);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::determinant
