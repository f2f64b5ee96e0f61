// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/check_sink.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/sinks/built_timeslice.hpp"
#include "stream/sources/pattern.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

class check_sink : public ::testing::Test {
 protected:
  void make(const StreamShape& shape, const std::string& uri = "pattern:?size=1KiB&sizes=uniform") {
    timeslices_ = build_timeslices(uri, shape, 5);
    ASSERT_EQ(timeslices_.size(), 5u);
    sink_ = std::make_unique<CheckSink>(SinkPlace{.inputs = shape.inputs,
                                                  .microslices_per_timeslice = shape.per_timeslice,
                                                  .seed = shape.seed});
  }
  void SetUp() override { make({}); }
  void consume(BuiltTimeslice& timeslice) { ASSERT_TRUE(sink_->consume(timeslice.view())); }
  /// Feeds one timeslice and returns the error found in it.
  std::string finding(BuiltTimeslice& timeslice) {
    const auto before = sink_->summary().errors;
    consume(timeslice);
    return sink_->summary().errors > before ? sink_->summary().first_error : "";
  }
  MicrosliceDescriptor& descriptor(std::size_t t, std::size_t c, std::size_t m) {
    return reinterpret_cast<MicrosliceDescriptor*>(timeslices_[t].data[c].data())[m];
  }
  std::vector<BuiltTimeslice> timeslices_;
  std::unique_ptr<CheckSink> sink_;
};

TEST_F(check_sink, accepts_what_the_pattern_promises) {
  for (auto& t : timeslices_) EXPECT_EQ(finding(t), "");
  EXPECT_EQ(sink_->summary().timeslices, 5u);
  EXPECT_GT(sink_->summary().bytes, 5u * 2 * 3 * 512);
}

TEST_F(check_sink, accepts_overlap_and_any_order) {
  make({.overlap = 2});
  for (const std::size_t t : {3, 0, 4, 1, 2}) EXPECT_EQ(finding(timeslices_[t]), "");
}

TEST_F(check_sink, accepts_other_content_whose_checksums_hold) {
  make({.inputs = 1}, "pattern:?size=1KiB");
  for (auto& t : timeslices_) {
    for (std::size_t m = 0; m < 3; ++m) {
      auto* const d = reinterpret_cast<MicrosliceDescriptor*>(t.data[0].data()) + m;
      d->system_id = 0x10;
      d->flags = 0;
    }
    std::fill(t.data[0].begin() + 96, t.data[0].end(), std::byte{7});
    EXPECT_EQ(finding(t), "");
  }
}

TEST_F(check_sink, notices_a_swap_of_channels) {
  std::swap(timeslices_[0].data[0], timeslices_[0].data[1]);
  EXPECT_THAT(finding(timeslices_[0]),
              HasSubstr("component 0, microslice 0: pattern of channel 1"));
}

TEST_F(check_sink, notices_a_stale_buffer) {
  timeslices_[3].data[1] = timeslices_[1].data[1];
  timeslices_[3].components[1] = timeslices_[1].components[1];
  EXPECT_THAT(
      finding(timeslices_[3]),
      HasSubstr("timeslice 3: component 1, microslice 0: pattern of sequence 3, expected 9"));
}

TEST_F(check_sink, notices_another_runs_data) {
  make({.seed = 9});
  CheckSink other({.inputs = 2, .microslices_per_timeslice = 3, .seed = 10});
  ASSERT_TRUE(other.consume(timeslices_[0].view()));
  EXPECT_THAT(other.summary().first_error, HasSubstr("seed 9, expected 10"));
  EXPECT_EQ(other.summary().errors, 6u);
}

TEST_F(check_sink, notices_a_damaged_byte_by_checksum_and_by_fill) {
  timeslices_[0].data[0].back() ^= std::byte{1};
  EXPECT_THAT(finding(timeslices_[0]), HasSubstr("microslice 2: CRC-32C 0x"));
  EXPECT_EQ(sink_->summary().errors, 2u);
  descriptor(1, 0, 0).flags = 0;
  timeslices_[1].data[0][96 + 60] ^= std::byte{1};
  ASSERT_TRUE(sink_->consume(timeslices_[1].view()));
  EXPECT_EQ(sink_->summary().errors, 3u);
}

TEST_F(check_sink, a_zeroed_buffer_does_not_pass_as_something_else) {
  EXPECT_EQ(finding(timeslices_[0]), "");
  auto& bytes = timeslices_[1].data[1];
  std::fill(bytes.begin() + 96, bytes.end(), std::byte{0});
  for (std::size_t m = 0; m < 3; ++m) descriptor(1, 1, m).flags = descriptor(1, 1, m).system_id = 0;
  EXPECT_THAT(finding(timeslices_[1]), HasSubstr("does not start as a pattern"));
}

TEST_F(check_sink, notices_descriptors_that_are_none_or_point_outside) {
  descriptor(0, 0, 0).header_id = 0;
  EXPECT_THAT(finding(timeslices_[0]), HasSubstr("0x00 0x01 instead of 0xdd 0x01"));
  make({});
  descriptor(0, 1, 2).offset += 1;
  EXPECT_THAT(finding(timeslices_[0]), HasSubstr("component 1: microslice 2 of"));
}

TEST_F(check_sink, a_timeslice_comes_once_unless_flagged_as_repeated) {
  EXPECT_EQ(finding(timeslices_[0]), "");
  timeslices_[0].flags = bit(TimesliceFlag::repeated);
  EXPECT_EQ(finding(timeslices_[0]), "");
  EXPECT_EQ(sink_->summary().repeated, 1u);
  timeslices_[0].flags = 0;
  EXPECT_THAT(finding(timeslices_[0]), HasSubstr("delivered twice"));
}

TEST_F(check_sink, counts_flagged_incompleteness_and_refuses_the_unflagged) {
  auto& t = timeslices_[0];
  t.data[1].clear();
  t.components[1].num_microslices = 0;
  t.components[1].flags = t.flags = bit(TimesliceFlag::missing_components);
  EXPECT_EQ(finding(t), "");
  EXPECT_EQ(sink_->summary().incomplete, 1u);
  auto& u = timeslices_[1];
  u.data[1].clear();
  u.components[1].num_microslices = 0;
  EXPECT_THAT(finding(u), HasSubstr("component 1 has 0 of 3 microslices and does not say so"));
  make({});
  timeslices_[2].components[0].flags = bit(TimesliceFlag::missing_microslices);
  EXPECT_THAT(finding(timeslices_[2]), HasSubstr("are not in the timeslice's"));
  make({});
  timeslices_[2].flags = timeslices_[2].components[0].flags =
      bit(TimesliceFlag::missing_components);
  EXPECT_THAT(finding(timeslices_[2]), HasSubstr("component 0 is flagged missing and has"));
}

TEST_F(check_sink, notices_wrong_counts) {
  timeslices_[0].components.pop_back();
  timeslices_[0].data.pop_back();
  EXPECT_THAT(finding(timeslices_[0]), HasSubstr("1 components instead of 2"));
  make({});
  timeslices_[0].num_core = 2;
  EXPECT_THAT(finding(timeslices_[0]), HasSubstr("2 core microslices instead of 3"));
  make({});
  timeslices_[0].start_time = 5;
  EXPECT_THAT(finding(timeslices_[0]), HasSubstr("starts at 0 ns, its timeslice at 5 ns"));
}

TEST(seen_window, answers_within_its_size) {
  SeenWindow window(128);
  using Answer = SeenWindow::Answer;
  EXPECT_EQ(window.see(1'000), Answer::fresh);
  EXPECT_EQ(window.see(936), Answer::fresh);
  EXPECT_EQ(window.see(935), Answer::too_old);
  EXPECT_EQ(window.see(1'000), Answer::seen);
  EXPECT_EQ(window.see(1'064), Answer::fresh);
  EXPECT_EQ(window.see(936), Answer::too_old);
  EXPECT_EQ(window.see(937), Answer::fresh);
  EXPECT_EQ(window.see(UINT64_MAX), Answer::fresh);
  EXPECT_EQ(window.see(UINT64_MAX - 127), Answer::fresh);
  EXPECT_EQ(window.see(UINT64_MAX), Answer::seen);
}

TEST(seen_window, agrees_with_a_set_over_a_long_walk) {
  SeenWindow window(256);
  std::vector<bool> seen(20'000);
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    const std::uint64_t index = i / 2 + (i * 37) % 100;
    if (index >= seen.size()) break;
    ASSERT_EQ(window.see(index) == SeenWindow::Answer::seen, seen[index]) << i;
    seen[index] = true;
  }
}

}  // namespace
}  // namespace weft
