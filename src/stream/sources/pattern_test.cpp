// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/crc32c.hpp"
#include "stream/sources/collecting_writer.hpp"
#include "wire/archive/golden.hpp"

namespace weft {
namespace {

using ::testing::HasSubstr;

constexpr PatternIdentity identity{.seed = 1, .timeslice = 2, .sequence = 3, .channel = 4};

std::vector<std::byte> made(const PatternIdentity& id, std::size_t size, bool fill = true) {
  std::vector<std::byte> content(size);
  write_pattern(id, fill, content);
  return content;
}

TEST(pattern, verifies_at_every_size) {
  for (std::size_t size = 48; size < 400; ++size) {
    EXPECT_TRUE(verify_pattern(identity, made(identity, size))) << size;
  }
}

TEST(pattern, header_has_the_documented_layout) {
  const auto content = made({.seed = 0x0101, .timeslice = 2, .sequence = 3, .channel = 4}, 60);
  const auto expected = wire::bytes_from_hex(R"("WEFTPAT1"
      01 01 00 00 00 00 00 00  02 00 00 00 00 00 00 00  03 00 00 00 00 00 00 00
      04 00 00 00  3c 00 00 00  01 00 00 00  00 00 00 00)");
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), content.begin()));
}

// Worked out from docs/formats.md, not by this code: another version must verify our archives.
TEST(pattern, fill_has_the_documented_bytes) {
  const auto content = made({.seed = 0x0101, .timeslice = 2, .sequence = 3, .channel = 4}, 68);
  const auto expected =
      wire::bytes_from_hex("ea e3 71 ba 9e d8 13 d2 cd 31 63 28 52 52 4b 70 0c 7f 92 5d");
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), content.begin() + 48));
}

TEST(pattern, notices_every_damaged_byte_and_says_where) {
  const auto good = made(identity, 48 + 32 + 13);
  for (std::size_t at = 0; at < good.size(); ++at) {
    if (at >= 44 && at < 48) continue;  // reserved
    auto bad = good;
    bad[at] ^= std::byte{4};
    const auto verified = verify_pattern(identity, bad);
    ASSERT_FALSE(verified) << at;
    if (at >= 48) {
      EXPECT_THAT(verified.error().message, HasSubstr(fmt::format("from byte {} on", at)));
    }
  }
}

TEST(pattern, belongs_to_one_microslice_only) {
  const auto content = made(identity, 100);
  auto other = identity;
  other.seed = 7;
  EXPECT_THAT(verify_pattern(other, content).error().message, HasSubstr("seed 1, expected 7"));
  other = identity;
  other.channel = 7;
  EXPECT_THAT(verify_pattern(other, content).error().message, HasSubstr("channel 4, expected 7"));
  other = identity;
  other.sequence = 7;
  EXPECT_THAT(verify_pattern(other, content).error().message, HasSubstr("sequence 3, expected 7"));
  other = identity;
  other.timeslice = 7;
  EXPECT_THAT(verify_pattern(other, content).error().message, HasSubstr("timeslice 2, expected 7"));
  EXPECT_FALSE(verify_pattern(identity, std::span(content).first(99)));
  EXPECT_FALSE(verify_pattern(identity, std::span(content).first(47)));
  EXPECT_FALSE(verify_pattern(identity, {}));
}

// A header of one microslice over the stale bytes of another must not pass.
TEST(pattern, fill_depends_on_everything_in_the_header) {
  const auto content = made(identity, 512);
  for (int field = 0; field < 4; ++field) {
    auto other = identity;
    if (field == 0) ++other.seed;
    if (field == 1) ++other.timeslice;
    if (field == 2) ++other.sequence;
    if (field == 3) ++other.channel;
    auto stale = made(other, 512);
    std::copy_n(content.begin(), 48, stale.begin());
    EXPECT_THAT(verify_pattern(identity, stale).error().message, HasSubstr("differs from byte"));
  }
}

TEST(pattern, without_fill_only_the_header_is_promised) {
  auto content = made(identity, 512, false);
  content[300] = std::byte{9};
  EXPECT_TRUE(verify_pattern(identity, content));
}

TEST(pattern_source, numbers_microslices_and_timeslices) {
  const SourcePlace place{.input = 2, .inputs = 4, .microslices_per_timeslice = 3, .seed = 11};
  const auto microslices = collect("pattern:?size=1KiB&count=7&duration=10us", place);
  ASSERT_TRUE(microslices) << microslices.error().message;
  ASSERT_EQ(microslices->size(), 7u);
  for (std::uint64_t m = 0; m < 7; ++m) {
    const auto& [descriptor, content] = (*microslices)[m];
    EXPECT_EQ(content.size(), 1024u);
    EXPECT_EQ(descriptor.index, m * 10'000);
    EXPECT_EQ(descriptor.equipment_id, 2);
    EXPECT_EQ(descriptor.flags, bit(MicrosliceFlag::crc_valid));
    EXPECT_EQ(descriptor.crc, crc32c(content));
    const auto verified =
        verify_pattern({.seed = 11, .timeslice = m / 3, .sequence = m, .channel = 2}, content);
    EXPECT_TRUE(verified) << verified.error().message;
  }
}

std::vector<std::size_t> sizes_of(std::string_view uri, std::uint32_t input, std::size_t n) {
  const auto microslices = collect(uri, {.input = input, .inputs = 8, .seed = 5}, n);
  EXPECT_TRUE(microslices) << microslices.error().message;
  std::vector<std::size_t> sizes;
  for (const auto& m : *microslices) sizes.push_back(m.content.size());
  return sizes;
}

TEST(pattern_source, random_sizes_differ_between_channels_and_keep_the_mean) {
  for (const char* uri : {"pattern:?size=4KiB&sizes=uniform&fill=header",
                          "pattern:?size=4KiB&sizes=poisson&hit=256&fill=header"}) {
    const auto a = sizes_of(uri, 0, 2'000);
    const auto b = sizes_of(uri, 1, 2'000);
    EXPECT_NE(a, b) << uri;
    EXPECT_EQ(a, sizes_of(uri, 0, 2'000)) << uri;
    double sum = 0;
    for (const std::size_t s : a) sum += static_cast<double>(s);
    EXPECT_NEAR(sum / 2'000, 4'096, 120) << uri;
    EXPECT_GT(std::set(a.begin(), a.end()).size(), 10u);
  }
}

TEST(pattern_source, takes_sizes_from_a_file) {
  const wire::TestDirectory directory;
  std::ofstream(directory / "sizes") << "1KiB  # comment\n\n2KiB\n3000\n";
  const std::string uri = "pattern:?sizes=" + directory / "sizes";
  const auto sizes = sizes_of(uri, 0, 6);
  EXPECT_EQ(std::set(sizes.begin(), sizes.end()), (std::set<std::size_t>{1024, 2048, 3000}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(sizes[i], sizes[i + 3]);
  std::ofstream(directory / "bad") << "1KiB\nlarge\n";
  EXPECT_THAT(collect("pattern:?sizes=" + directory / "bad", {}).error().message,
              HasSubstr("bad:2: 'large' must be a size"));
  std::ofstream(directory / "long").close();
  std::filesystem::resize_file(directory / "long", 65u << 20);
  EXPECT_THAT(collect("pattern:?sizes=" + directory / "long", {}).error().message,
              HasSubstr("long' has more than 64 MiB"));
  EXPECT_THAT(collect("pattern:?sizes=unifrom", {}).error().message,
              HasSubstr("sizes is constant, uniform, poisson or a file"));
}

TEST(pattern_source, seeks_to_any_microslice) {
  constexpr std::string_view uri = "pattern:?size=2KiB&sizes=uniform&count=1000";
  const SourcePlace place{.microslices_per_timeslice = 10, .seed = 3};
  const auto all = collect(uri, place);
  auto source = open_source(uri, place);
  ASSERT_TRUE((*source)->seek(997));
  const auto rest = collect(**source);
  ASSERT_EQ(rest->size(), 3u);
  EXPECT_EQ((*rest)[0].content, (*all)[997].content);
  EXPECT_EQ((*rest)[0].descriptor.index, (*all)[997].descriptor.index);
}

TEST(pattern_source, refuses_what_it_cannot_make) {
  EXPECT_THAT(collect("pattern:?size=8", {}).error().message, HasSubstr("must be from 48 B"));
  EXPECT_THAT(collect("pattern:x?size=64", {}).error().message, HasSubstr("'x' after 'pattern:'"));
  EXPECT_THAT(collect("pattern:?length=64", {}).error().message, HasSubstr("unknown key 'length'"));
  EXPECT_THAT(collect("pattern:?fill=zero", {}).error().message, HasSubstr("full or header"));
  EXPECT_THAT(collect("patern:", {}).error().message,
              HasSubstr("'patern:': unknown source; known are pattern:"));
  auto source = open_source("pattern:?size=1MiB", {});
  CollectingWriter small(1000);
  EXPECT_THAT((*source)->produce(Instant{}, small).error().message,
              HasSubstr("microslice 0 of 1 MiB does not fit the input's buffer"));
}

}  // namespace
}  // namespace weft
