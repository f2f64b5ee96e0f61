// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/pace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/sources/collecting_writer.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr Instant at_ms(std::int64_t ms) {
  return Instant{} + Duration::milliseconds(ms);
}

TEST(rate, is_read_as_people_write_it) {
  EXPECT_EQ(Rate::parse("max")->kind, Rate::Kind::max);
  EXPECT_EQ(Rate::parse("native")->value, 1);
  EXPECT_EQ(Rate::parse("x2.5")->value, 2.5);
  EXPECT_EQ(Rate::parse("x2.5")->kind, Rate::Kind::native);
  EXPECT_EQ(Rate::parse("100Hz")->value, 100);
  EXPECT_EQ(Rate::parse("1.5kHz")->value, 1500);
  EXPECT_EQ(Rate::parse("2MHz")->value, 2e6);
  for (const char* bad :
       {"", "fast", "x", "x0", "x-1", "Hz", "0Hz", "10", "xinf", "nanHz", "1Hz2"}) {
    EXPECT_FALSE(Rate::parse(bad)) << bad;
  }
  EXPECT_THAT(Rate::parse("fast").error().message, HasSubstr("max, native, x2.5 or 100Hz"));
}

TEST(pace, frequency_has_no_drift_and_catches_up) {
  Pace pace(*Rate::parse("3Hz"));
  EXPECT_EQ(pace.due(at_ms(100), 0), at_ms(100));
  for (int i = 0; i < 300; ++i) pace.advance();
  EXPECT_EQ(pace.due(at_ms(500'000), 0), at_ms(100'100));
}

TEST(pace, native_follows_the_times_of_the_microslices) {
  Pace pace(*Rate::parse("x2"));
  EXPECT_EQ(pace.due(at_ms(5), 7'000'000), at_ms(5));
  EXPECT_EQ(pace.due(at_ms(6), 9'000'000), at_ms(6));
  EXPECT_EQ(pace.due(at_ms(6), 6'000'000), at_ms(5));
  pace.restart();
  EXPECT_EQ(pace.due(at_ms(50), 9'000'000), at_ms(50));
}

TEST(pace, times_far_apart_stay_representable) {
  Pace pace(*Rate::parse("x1e-9"));
  EXPECT_EQ(pace.due(at_ms(0), 0), at_ms(0));
  EXPECT_GT(pace.due(at_ms(0), UINT64_MAX), at_ms(1'000'000));
}

TEST(feed_source, says_when_it_wants_to_be_called_again) {
  auto source = open_source("pattern:?size=64&rate=100Hz", {});
  CollectingWriter out;
  auto state = (*source)->produce(at_ms(40), out);
  EXPECT_EQ(out.microslices.size(), 1u);
  EXPECT_EQ(state->again_at, at_ms(50));
  state = (*source)->produce(at_ms(45), out);
  EXPECT_EQ(out.microslices.size(), 1u);
  state = (*source)->produce(at_ms(65), out);
  EXPECT_EQ(out.microslices.size(), 3u);
  EXPECT_EQ(state->again_at, at_ms(70));
}

TEST(feed_source, waits_for_room_and_bounds_its_work) {
  auto source = open_source("pattern:?size=64KiB", {});
  CollectingWriter out;
  out.room = 3;
  auto state = (*source)->produce(at_ms(1), out);
  EXPECT_EQ(out.microslices.size(), 3u);
  EXPECT_FALSE(state->ended);
  EXPECT_EQ(state->again_at, at_ms(1));
  out.room = SIZE_MAX;
  state = (*source)->produce(at_ms(1), out);
  EXPECT_EQ(out.microslices.size(), 3u + 32u);
  EXPECT_LE(state->again_at, at_ms(1));
}

TEST(feed_source, pattern_repeats_and_strides) {
  const auto looped = collect("pattern:?size=64&count=3&loop=2&duration=1us", {});
  ASSERT_EQ(looped->size(), 6u);
  EXPECT_EQ((*looped)[5].descriptor.index, 5'000u);
  const auto strided = collect("pattern:?size=64&count=3&stride=10&duration=1us", {});
  ASSERT_EQ(strided->size(), 3u);
  EXPECT_EQ((*strided)[2].descriptor.index, 20'000u);
}

}  // namespace
}  // namespace weft
