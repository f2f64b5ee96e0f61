// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/feeds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "stream/sources/collecting_writer.hpp"
#include "wire/archive/golden.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;
using wire::TestDirectory;

class archive_source : public ::testing::Test {
 protected:
  archive_source() {
    for (const char* name : {"microslices.msa", "timeslices.tsa"}) {
      wire::write_whole(directory_ / name, wire::golden(name));
    }
    wire::write_whole(directory_ / "run_0000.msa", wire::golden("microslices.msa"));
    wire::write_whole(directory_ / "run_0001.msa", wire::golden("microslices.msa"));
  }
  std::string uri(std::string_view scheme, std::string_view rest) const {
    return std::string(scheme) + ":" + directory_ / rest;
  }
  const TestDirectory directory_;
};

TEST_F(archive_source, msa_replays_its_microslices) {
  const auto microslices = collect(uri("msa", "microslices.msa"), {});
  ASSERT_TRUE(microslices) << microslices.error().message;
  ASSERT_EQ(microslices->size(), 2u);
  EXPECT_EQ((*microslices)[0].text(), "123456789");
  EXPECT_EQ((*microslices)[0].descriptor.index, 1000u);
  EXPECT_EQ((*microslices)[0].descriptor.equipment_id, 7);
  EXPECT_EQ((*microslices)[1].text(), "");
}

TEST_F(archive_source, tsa_gives_each_input_its_component_without_overlap) {
  const auto first = collect(uri("tsa", "timeslices.tsa"), {.input = 0, .inputs = 2});
  ASSERT_EQ(first->size(), 2u);
  EXPECT_EQ((*first)[0].text(), "123456789");
  EXPECT_EQ((*first)[1].text(), "");
  EXPECT_EQ((*first)[1].descriptor.index, 6000u);
}

TEST_F(archive_source, an_empty_microslice_stands_for_what_a_component_misses) {
  const auto second = collect(uri("tsa", "timeslices.tsa"), {.input = 1, .inputs = 2});
  ASSERT_EQ(second->size(), 2u);
  EXPECT_EQ((*second)[0].text(), "\xff");
  EXPECT_EQ((*second)[1].text(), "");
  EXPECT_EQ((*second)[1].descriptor.flags, bit(MicrosliceFlag::data_error));
  EXPECT_EQ((*second)[1].descriptor.index, 6000u);
}

TEST_F(archive_source, loops_go_on_in_time) {
  const auto looped = collect(uri("msa", "microslices.msa?loop=3"), {});
  ASSERT_EQ(looped->size(), 6u);
  for (std::size_t m = 0; m < 6; ++m) {
    EXPECT_EQ((*looped)[m].descriptor.index, 1000 + m * 1000);
    EXPECT_EQ((*looped)[m].content.size(), m % 2 == 0 ? 9u : 0u);
  }
}

TEST_F(archive_source, strides_take_each_nth) {
  const auto strided = collect(uri("msa", "microslices.msa?loop=2&stride=2"), {});
  ASSERT_EQ(strided->size(), 2u);
  EXPECT_EQ((*strided)[1].text(), "123456789");
}

TEST_F(archive_source, percent_s_plays_the_files_of_one_recording) {
  EXPECT_EQ(collect(uri("msa", "run_%s.msa"), {})->size(), 4u);
  EXPECT_EQ(collect(uri("msa", "run_%s.msa?loop=2"), {})->size(), 8u);
}

TEST_F(archive_source, seeks_through_loops) {
  auto source = open_source(uri("msa", "microslices.msa?loop=0"), {});
  ASSERT_TRUE(source) << source.error().message;
  ASSERT_TRUE((*source)->seek(6));
  const auto rest = collect(**source, 2);
  EXPECT_EQ((*rest)[0].descriptor.index, 7000u);
  EXPECT_EQ((*rest)[0].text(), "123456789");
}

TEST_F(archive_source, native_rate_follows_the_recorded_times) {
  auto source = open_source(uri("msa", "microslices.msa?rate=x0.5"), {});
  CollectingWriter out;
  const auto state = (*source)->produce(Instant(100), out);
  EXPECT_EQ(out.microslices.size(), 1u);
  EXPECT_EQ(state->again_at, Instant(2'100));
}

TEST_F(archive_source, says_what_is_wrong_when_it_is_opened) {
  EXPECT_THAT(open_source(uri("tsa", "microslices.msa"), {}).error().message,
              HasSubstr("holds microslices; open it as msa:"));
  EXPECT_EQ(open_source(uri("msa", "absent.msa"), {}).error().code, ErrorCode::not_found);
  EXPECT_THAT(open_source(uri("tsa", "timeslices.tsa"), {.input = 2, .inputs = 3}).error().message,
              HasSubstr("timeslice 4 has 2 components"));
  auto damaged = wire::golden("microslices.msa");
  damaged.resize(damaged.size() - 1);
  wire::write_whole(directory_ / "damaged.msa", damaged);
  EXPECT_THAT(collect(uri("msa", "damaged.msa"), {}).error().message, HasSubstr("truncated"));
}

TEST_F(archive_source, an_archive_without_items_ends_at_once) {
  auto empty = wire::golden("microslices.msa");
  empty.resize(80);
  wire::write_whole(directory_ / "empty.msa", empty);
  const auto none = collect(uri("msa", "empty.msa?loop=0"), {});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->empty());
}

}  // namespace
}  // namespace weft
