// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/crc32c.hpp"
#include "base/rng.hpp"
#include "wire/archive/component.hpp"
#include "wire/archive/golden.hpp"

namespace weft::wire {
namespace {

using ::testing::HasSubstr;

Result<ArchiveReader> read_bytes(std::span<const std::byte> bytes, ArchiveLimits limits = {}) {
  return ArchiveReader::from(make_memory_input(bytes), "x.tsa", limits);
}

/// Items up to the end, or the error.
Result<std::uint64_t> count_items(std::span<const std::byte> bytes, ArchiveLimits limits = {}) {
  auto reader = read_bytes(bytes, limits);
  if (!reader) return reader.error();
  for (;;) {
    const auto more = reader->next();
    if (!more) return more.error();
    if (!*more) return reader->items();
  }
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(archive_reader, decodes_microslices) {
  const auto bytes = golden("microslices.msa");
  auto reader = read_bytes(bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->type(), ArchiveType::microslices);
  EXPECT_EQ(reader->format().library_version, 10);
  EXPECT_EQ(reader->format().descriptor_version, 1u);
  EXPECT_EQ(reader->format().time_created, 0x5a000000);
  EXPECT_EQ(reader->format().host, "lab1");
  EXPECT_EQ(reader->format().user, "ada");
  ASSERT_TRUE(*reader->next());
  const ArchivedMicroslice& first = reader->microslice();
  EXPECT_EQ(first.descriptor.equipment_id, 7);
  EXPECT_EQ(first.descriptor.system_id, 0x10);
  EXPECT_EQ(first.descriptor.index, 1000u);
  EXPECT_EQ(text_of(first.content), "123456789");
  EXPECT_EQ(first.descriptor.crc, crc32c(first.content));
  ASSERT_TRUE(*reader->next());
  EXPECT_EQ(reader->microslice().descriptor.index, 2000u);
  EXPECT_TRUE(reader->microslice().content.empty());
  EXPECT_FALSE(*reader->next());
  EXPECT_EQ(reader->items(), 2u);
}

TEST(archive_reader, decodes_timeslices_with_overlap_and_a_missing_component) {
  const auto bytes = golden("timeslices.tsa");
  auto reader = read_bytes(bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  ASSERT_TRUE(*reader->next());
  const ArchivedTimeslice& t = reader->timeslice();
  EXPECT_EQ(t.descriptor.index, 4u);
  EXPECT_EQ(t.descriptor.start_time, 4000u);
  EXPECT_EQ(t.descriptor.duration, 1000u);
  EXPECT_EQ(t.descriptor.num_core_microslices, 1u);
  ASSERT_EQ(t.components.size(), 2u);
  const auto component = ComponentReader::open(t.components[0].data, 2);
  ASSERT_TRUE(component);
  EXPECT_EQ(text_of(component->microslice(0).content), "123456789");
  EXPECT_EQ(text_of(component->microslice(1).content), "abc");
  ASSERT_TRUE(*reader->next());
  EXPECT_EQ(reader->timeslice().descriptor.index, 6u);
  EXPECT_EQ(reader->timeslice().descriptor.flags, bit(TimesliceFlag::missing_components));
  EXPECT_EQ(reader->timeslice().components[1].descriptor.flags,
            bit(TimesliceFlag::missing_components));
  EXPECT_TRUE(reader->timeslice().components[1].data.empty());
  EXPECT_FALSE(*reader->next());
  EXPECT_EQ(reader->format().timeslice_version, 2u);
  EXPECT_EQ(reader->format().component_version, 1u);
}

TEST(archive_reader, decodes_the_oldest_versions) {
  const auto bytes = golden("timeslices_oldest.tsa");
  auto reader = read_bytes(bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->type(), ArchiveType::timeslices);
  ASSERT_TRUE(*reader->next());
  EXPECT_EQ(std::uint64_t{reader->timeslice().descriptor.ts_pos}, 5u);  // packed
  EXPECT_EQ(reader->timeslice().descriptor.index, 0u);
  EXPECT_EQ(text_of(reader->timeslice().components[0].data.subspan(32)), "data");
  EXPECT_EQ(reader->format().timeslice_version, 0u);
  EXPECT_EQ(reader->format().component_version, 0u);
  EXPECT_FALSE(*reader->next());
}

TEST(archive_reader, decompresses) {
  const auto bytes = golden("microslices_zstd.msa");
  auto reader = read_bytes(bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->format().compression, ArchiveCompression::zstd);
  auto more = reader->next();
  ASSERT_TRUE(more) << more.error().message;
  ASSERT_TRUE(*more);
  EXPECT_EQ(text_of(reader->microslice().content), "zstd");
  EXPECT_FALSE(*reader->next());
}

TEST(archive_reader, skips_items_as_if_they_had_been_read) {
  for (const char* name : {"microslices.msa", "timeslices.tsa"}) {
    const auto bytes = golden(name);
    auto reader = read_bytes(bytes);
    ASSERT_TRUE(*reader->skip()) << name;
    ASSERT_TRUE(*reader->next()) << name;
    EXPECT_FALSE(*reader->skip()) << name;
    EXPECT_EQ(reader->items(), 2u);
  }
}

/// The ends of items; a file cut at one is a shorter, valid archive.
std::vector<std::size_t> item_ends(std::span<const std::byte> bytes) {
  auto reader = read_bytes(bytes);
  std::vector<std::size_t> ends{reader->position()};
  while (*reader->next()) ends.push_back(reader->position());
  return ends;
}

TEST(archive_reader, notices_every_truncation_that_is_not_between_items) {
  for (const char* name : {"microslices.msa", "timeslices.tsa", "timeslices_oldest.tsa"}) {
    const auto bytes = golden(name);
    const auto ends = item_ends(bytes);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      const auto items = count_items(std::span(bytes).first(n));
      const bool between = std::find(ends.begin(), ends.end(), n) != ends.end();
      ASSERT_EQ(items.ok(), between) << name << " cut to " << n;
      if (!between) {
        EXPECT_EQ(items.error().code, n > 0 ? ErrorCode::corrupt : ErrorCode::invalid_argument);
      }
    }
  }
}

TEST(archive_reader, notices_every_truncation_of_a_compressed_archive) {
  const auto bytes = golden("microslices_zstd.msa");
  const std::size_t frame = bytes.size() - 54 - 3 - 6;
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(count_items(std::span(bytes).first(n)).ok(), n == frame) << n;
  }
}

TEST(archive_reader, names_the_file_the_byte_and_the_item) {
  const auto bytes = golden("timeslices.tsa");
  const auto items = count_items(std::span(bytes).first(bytes.size() - 1));
  ASSERT_FALSE(items);
  EXPECT_THAT(items.error().message, HasSubstr("x.tsa: byte "));
  EXPECT_THAT(items.error().message, HasSubstr("truncated: a component descriptor needs 4 bytes"));
  EXPECT_THAT(items.error().message, HasSubstr("(item 1, which starts at "));
  EXPECT_EQ(items.error().message.find('\n'), std::string::npos);
}

/// Overwrites eight bytes wherever they fit, with lengths that nobody can have meant.
TEST(archive_reader, refuses_huge_lengths_without_taking_memory) {
  for (const char* name : {"microslices.msa", "timeslices.tsa", "microslices_zstd.msa"}) {
    const auto bytes = golden(name);
    for (const std::uint64_t huge : {UINT64_MAX, UINT64_MAX / 2, std::uint64_t{1} << 40}) {
      for (std::size_t at = 0; at + 8 <= bytes.size(); ++at) {
        auto changed = bytes;
        std::memcpy(changed.data() + at, &huge, sizeof huge);
        const auto items = count_items(changed, {.item_bytes = 1 << 20});
        if (items) {
          EXPECT_LE(*items, 2u);
        }
      }
    }
  }
}

TEST(archive_reader, refuses_a_timeslice_over_the_limit) {
  const auto bytes = golden("timeslices.tsa");
  const auto items = count_items(bytes, {.item_bytes = 108});
  ASSERT_FALSE(items);
  EXPECT_EQ(items.error().code, ErrorCode::exhausted);
  EXPECT_TRUE(count_items(bytes, {.item_bytes = 109}));
}

/// As a crash leaves it: 68 zeros would read as a timeslice.
TEST(archive_reader, refuses_a_tail_of_zeros) {
  auto bytes = golden("timeslices.tsa");
  bytes.resize(bytes.size() + 68 * 3);
  const auto items = count_items(bytes);
  ASSERT_FALSE(items);
  EXPECT_EQ(items.error().code, ErrorCode::corrupt);
  EXPECT_THAT(items.error().message, HasSubstr("without components"));
}

TEST(archive_reader, refuses_what_is_no_archive) {
  for (const char* hex : {"\"GIF89a, certainly not an archive of any kind\"", "\"GIF\""}) {
    const auto items = count_items(bytes_from_hex(hex));
    ASSERT_FALSE(items) << hex;
    EXPECT_EQ(items.error().code, ErrorCode::invalid_argument) << hex;
    EXPECT_THAT(items.error().message, HasSubstr("not a FLESnet archive"));
  }
  EXPECT_THAT(count_items({}).error().message, HasSubstr("is empty; name a .tsa or .msa file"));
  auto other_machine = golden("microslices.msa");
  other_machine[36] = std::byte{0};
  EXPECT_THAT(count_items(other_machine).error().message, HasSubstr("little-endian"));
  auto reconstruction = golden("microslices.msa");
  reconstruction[45] = std::byte{2};
  EXPECT_THAT(count_items(reconstruction).error().message, HasSubstr("archive of type 2"));
  EXPECT_EQ(ArchiveReader::open("/dev/null/x.tsa").error().code, ErrorCode::not_found);
  EXPECT_THAT(ArchiveReader::open("/").error().message, HasSubstr("Is a directory"));
}

TEST(archive_reader, refuses_a_microslice_outside_of_its_component) {
  auto bytes = golden("timeslices.tsa");
  const auto marker = bytes_from_hex("09 00 00 00 64 00 00 00");
  const auto at = std::search(bytes.begin(), bytes.end(), marker.begin(), marker.end());
  ASSERT_NE(at, bytes.end());
  *at = std::byte{13};  // the first content grows from 9 to 13 bytes; 12 are there
  EXPECT_THAT(count_items(bytes).error().message,
              HasSubstr("component 0: microslice 0 of 13 bytes at offset 0 reaches beyond the 12"));
}

TEST(archive_reader, survives_random_damage) {
  constexpr std::uint64_t seed = 20'240'601;
  Rng rng(seed);
  SCOPED_TRACE("rerun with --gtest_filter=archive_reader.survives_random_damage, seed 20240601");
  for (const char* name :
       {"microslices.msa", "timeslices.tsa", "timeslices_oldest.tsa", "microslices_zstd.msa"}) {
    const auto bytes = golden(name);
    for (int round = 0; round < 3'000; ++round) {
      auto changed = bytes;
      for (std::uint64_t n = 1 + rng.below(4); n > 0; --n) {
        changed[rng.below(changed.size())] = static_cast<std::byte>(rng.next());
      }
      const auto items = count_items(changed, {.item_bytes = 1 << 20});
      if (!items) {
        EXPECT_THAT(items.error().message, HasSubstr("x.tsa: "));
      }
    }
  }
}

TEST(component_reader, accepts_contents_in_any_order_inside_of_the_component) {
  std::vector<std::byte> data(2 * 32 + 10);
  MicrosliceDescriptor d;
  d.size = 4;
  d.offset = 1'000;
  std::memcpy(data.data(), &d, 32);
  d.offset = 1'006;
  std::memcpy(data.data() + 32, &d, 32);
  const auto component = ComponentReader::open(data, 2);
  ASSERT_TRUE(component) << component.error().message;
  EXPECT_EQ(component->microslice(1).content.data(), data.data() + 64 + 6);
  d.offset = 999;  // before the first content
  std::memcpy(data.data() + 32, &d, 32);
  EXPECT_FALSE(ComponentReader::open(data, 2));
  EXPECT_FALSE(ComponentReader::open(data, 3));
  EXPECT_FALSE(ComponentReader::open(data, UINT64_MAX / 16));
  EXPECT_TRUE(ComponentReader::open({}, 0));
}

}  // namespace
}  // namespace weft::wire
