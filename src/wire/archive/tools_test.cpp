// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/tools.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "wire/archive/component.hpp"
#include "wire/archive/golden.hpp"
#include "wire/archive/reader.hpp"
#include "wire/archive/writer.hpp"

namespace weft::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class archive_tools : public ::testing::Test {
 protected:
  /// A microslice archive with these start times; the content is the time as one byte.
  std::string make_msa(std::string_view name, const std::vector<std::uint64_t>& times) {
    const std::string path = directory_ / name;
    auto writer = ArchiveWriter::create(
        path, new_archive_format(ArchiveType::microslices, ArchiveCompression::none));
    for (const std::uint64_t time : times) {
      MicrosliceDescriptor d;
      d.index = time;
      d.size = 1;
      d.offset = 77;
      const std::byte content[] = {std::byte(time)};
      EXPECT_TRUE((*writer)->write(d, content));
    }
    EXPECT_TRUE((*writer)->finish());
    return path;
  }
  std::string make_golden(std::string_view name) {
    write_whole(directory_ / name, golden(name));
    return directory_ / name;
  }
  std::vector<std::uint64_t> indices(const std::string& path) {
    auto reader = ArchiveReader::open(path);
    EXPECT_TRUE(reader) << reader.error().message;
    std::vector<std::uint64_t> all;
    while (*reader->next()) {
      all.push_back(reader->type() == ArchiveType::timeslices
                        ? reader->timeslice().descriptor.index
                        : reader->microslice().descriptor.index);
    }
    return all;
  }
  ArchiveTarget out(std::string_view name) const { return {directory_ / name, Existing::replace}; }
  const TestDirectory directory_;
};

TEST_F(archive_tools, leave_nothing_when_they_are_interrupted) {
  const std::string path = make_golden("timeslices.tsa");
  const auto stop = [](const ArchiveProgress&) { return false; };
  const ArchiveTarget target = out("new.tsa");
  EXPECT_EQ(cut_archive(path, target, 0, 2, stop).error().code, ErrorCode::cancelled);
  const std::string inputs[] = {path};
  EXPECT_EQ(merge_archives(inputs, target, {}, stop).error().code, ErrorCode::cancelled);
  EXPECT_EQ(inspect_archive(path, true, stop).error().code, ErrorCode::cancelled);
  EXPECT_EQ(directory_.names(), std::vector<std::string>{"timeslices.tsa"});
}

TEST_F(archive_tools, inspect_counts_what_is_there) {
  std::uint64_t calls = 0;
  const std::string path = make_golden("timeslices.tsa");
  const auto contents = inspect_archive(path, true, [&](const ArchiveProgress& p) {
    ++calls;
    EXPECT_EQ(p.items, calls);
    EXPECT_EQ(*p.total_bytes, golden("timeslices.tsa").size());
    return true;
  });
  ASSERT_TRUE(contents) << contents.error().message;
  EXPECT_EQ(calls, 2u);
  EXPECT_EQ(contents->items, 2u);
  EXPECT_EQ(contents->microslices, 4u);
  EXPECT_EQ(contents->bytes, 13u);
  EXPECT_EQ(contents->first_index, 4u);
  EXPECT_EQ(contents->last_index, 6u);
  EXPECT_EQ(contents->incomplete, 1u);
  EXPECT_EQ(contents->file_bytes, golden("timeslices.tsa").size());
  ASSERT_EQ(contents->channels.size(), 2u);
  EXPECT_EQ(contents->channels[1].equipment_id, 1);
  EXPECT_EQ(contents->channels[1].missing, 1u);
  EXPECT_EQ(contents->crc_checked, 1u);
  EXPECT_EQ(contents->crc_wrong, 0u);
}

TEST_F(archive_tools, inspect_finds_a_damaged_content) {
  auto bytes = golden("microslices.msa");
  const auto content = bytes_from_hex("\"123456789\"");
  *std::search(bytes.begin(), bytes.end(), content.begin(), content.end()) = std::byte{'X'};
  write_whole(directory_ / "x.msa", bytes);
  const auto contents = inspect_archive(directory_ / "x.msa", true);
  EXPECT_EQ(contents->crc_wrong, 1u);
  EXPECT_THAT(contents->first_wrong, HasSubstr("item 0, component 0, microslice 0: CRC-32C 0x"));
  EXPECT_EQ(inspect_archive(directory_ / "x.msa", false)->crc_checked, 0u);
}

TEST_F(archive_tools, cutting_everything_gives_the_same_file) {
  for (const char* name : {"microslices.msa", "timeslices.tsa", "timeslices_oldest.tsa"}) {
    const auto items = cut_archive(make_golden(name), out("out"), 0, UINT64_MAX);
    ASSERT_TRUE(items) << items.error().message;
    EXPECT_EQ(read_whole(directory_ / "out"), golden(name));
  }
}

TEST_F(archive_tools, cuts_items_out_of_the_middle) {
  const std::string path = make_msa("x.msa", {1, 2, 3, 4, 5});
  EXPECT_EQ(*cut_archive(path, out("out"), 1, 3), 3u);
  EXPECT_THAT(indices(directory_ / "out"), ElementsAre(2, 3, 4));
  EXPECT_EQ(*cut_archive(path, out("out"), 4, 3), 1u);
  EXPECT_EQ(*cut_archive(path, out("out"), 5, 3), 0u);
  EXPECT_THAT(indices(directory_ / "out"), ElementsAre());
  EXPECT_THAT(cut_archive(path, out("out2"), 6, 1).error().message,
              HasSubstr("--from 6: '" + path + "' has 5 items, counted from 0; name one"));
  EXPECT_THAT(cut_archive(path, out("out2"), 1, 0).error().message, HasSubstr("--count: 0 items"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out2"));
  EXPECT_EQ(*cut_archive(make_golden("timeslices.tsa"), out("out"), 1, 1), 1u);
  EXPECT_THAT(indices(directory_ / "out"), ElementsAre(6));
}

TEST_F(archive_tools, merges_in_order_of_the_index) {
  const std::vector<std::string> paths{make_msa("a", {1, 4, 5}), make_msa("b", {2, 3, 9}),
                                       make_msa("c", {})};
  const auto merged = merge_archives(paths, out("out"), {ArchiveCompression::zstd});
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->items, 6u);
  EXPECT_EQ(merged->repeated + merged->out_of_order, 0u);
  EXPECT_THAT(indices(directory_ / "out"), ElementsAre(1, 2, 3, 4, 5, 9));
}

TEST_F(archive_tools, merge_says_what_was_repeated_or_out_of_order) {
  const std::vector<std::string> paths{make_msa("a", {1, 5, 2}), make_msa("b", {1, 3})};
  const auto merged = merge_archives(paths, out("out"), {});
  EXPECT_EQ(merged->repeated, 1u);
  EXPECT_EQ(merged->out_of_order, 1u);
  EXPECT_EQ(merged->items, 5u);
}

TEST_F(archive_tools, merge_refuses_different_types_and_nothing) {
  const std::vector<std::string> paths{make_golden("timeslices.tsa"), make_msa("b", {1})};
  EXPECT_THAT(merge_archives(paths, out("out"), {}).error().message,
              HasSubstr("holds timeslices, '"));
  EXPECT_FALSE(merge_archives({}, out("out"), {}));
  EXPECT_THAT(merge_components(std::span(paths).first(1), out("out"), 1, {}).error().message,
              HasSubstr("holds timeslices; components"));
}

TEST_F(archive_tools, makes_timeslices_of_microslice_archives) {
  const std::vector<std::string> paths{make_msa("a", {100, 110, 120, 130, 140}),
                                       make_msa("b", {101, 111, 121, 131})};
  const auto merged = merge_components(paths, out("out"), 2, {});
  ASSERT_TRUE(merged) << merged.error().message;
  EXPECT_EQ(merged->items, 2u);
  EXPECT_EQ(merged->left_over, 1u);
  auto reader = ArchiveReader::open(directory_ / "out");
  ASSERT_TRUE(*reader->next());
  ASSERT_TRUE(*reader->next());
  const ArchivedTimeslice& t = reader->timeslice();
  EXPECT_EQ(t.descriptor.index, 1u);
  EXPECT_EQ(t.descriptor.start_time, 120u);
  EXPECT_EQ(t.descriptor.duration, 20u);
  EXPECT_EQ(t.descriptor.num_core_microslices, 2u);
  const auto second = ComponentReader::open(t.components[1].data, 2);
  EXPECT_EQ(second->microslice(1).descriptor.index, 131u);
  EXPECT_EQ(second->microslice(1).content[0], std::byte{131});
  EXPECT_FALSE(*reader->next());
}

TEST_F(archive_tools, never_write_over_what_they_read) {
  const std::string path = make_msa("x.msa", {1, 2, 3});
  const std::string link = directory_ / "link.msa";
  const std::string symbolic = directory_ / "symbolic.msa";
  ASSERT_EQ(::link(path.c_str(), link.c_str()), 0);
  ASSERT_EQ(::symlink(path.c_str(), symbolic.c_str()), 0);
  const std::vector<std::string> paths{make_msa("y.msa", {4}), path};
  for (const std::string& name : {path, link, symbolic}) {
    for (const Existing existing : {Existing::refuse, Existing::replace}) {
      const ArchiveTarget target{name, existing};
      EXPECT_THAT(cut_archive(path, target, 1, 1).error().message, HasSubstr("it is the input '"));
      EXPECT_THAT(merge_archives(paths, target, {}).error().message,
                  HasSubstr("it is the input '"));
      EXPECT_THAT(merge_components(paths, target, 1, {}).error().message,
                  HasSubstr("it is the input '"));
    }
  }
  EXPECT_THAT(indices(path), ElementsAre(1, 2, 3));
}

TEST_F(archive_tools, write_over_another_file_only_when_told) {
  const std::string path = make_msa("x.msa", {1, 2, 3});
  const std::string other = make_msa("other.msa", {7});
  EXPECT_THAT(cut_archive(path, {other}, 0, 1).error().message, HasSubstr("--force"));
  const std::vector<std::string> paths{path};
  EXPECT_THAT(merge_archives(paths, {other}, {}).error().message, HasSubstr("--force"));
  EXPECT_THAT(indices(other), ElementsAre(7));
  EXPECT_TRUE(cut_archive(path, {other, Existing::replace}, 0, 1));
  EXPECT_THAT(indices(other), ElementsAre(1));
}

TEST_F(archive_tools, a_file_that_appears_while_another_is_written_stays) {
  const std::string path = directory_ / "late.msa";
  auto writer = ArchiveWriter::create(path, new_archive_format(ArchiveType::microslices, {}));
  ASSERT_TRUE(writer) << writer.error().message;
  write_whole(path, golden("microslices.msa"));
  EXPECT_THAT((*writer)->finish().error().message, HasSubstr("exists already"));
  EXPECT_EQ(read_whole(path), golden("microslices.msa"));
}

}  // namespace
}  // namespace weft::wire
