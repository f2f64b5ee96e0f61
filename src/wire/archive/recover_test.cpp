// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/recover.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/rng.hpp"
#include "wire/archive/golden.hpp"
#include "wire/archive/reader.hpp"
#include "wire/archive/writer.hpp"

namespace weft::wire {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Unfinished : public ::testing::TestWithParam<ArchiveCompression> {
 protected:
  /// Writes items of these sizes, which zstd cannot shrink, and flushes each, as the sink does.
  void write(const std::vector<std::size_t>& sizes) {
    auto output = FileOutput::create(directory_ / "x.msa", Existing::refuse, "1");
    ASSERT_TRUE(output);
    auto writer = ArchiveWriter::create(std::move(*output),
                                        new_archive_format(ArchiveType::microslices, GetParam()));
    ASSERT_TRUE(writer);
    Rng rng(1);
    for (const std::size_t size : sizes) {
      std::vector<std::byte> content(size);
      for (auto& b : content) b = static_cast<std::byte>(rng.next());
      MicrosliceDescriptor d;
      d.size = static_cast<std::uint32_t>(size);
      ASSERT_TRUE((*writer)->write(d, content));
      ASSERT_TRUE((*writer)->flush());
      ends_.push_back((*writer)->bytes());
    }
    (*writer)->leave();
  }
  /// Reads the archive to its end, which has to be a good one.
  static std::uint64_t items_of(const std::string& path) {
    auto reader = ArchiveReader::open(path);
    EXPECT_TRUE(reader) << reader.error().message;
    for (;;) {
      const auto more = reader->next();
      EXPECT_TRUE(more) << more.error().message;
      if (!more || !*more) return reader->items();
    }
  }

  const TestDirectory directory_;
  const std::string file_ = directory_ / "x.msa.part-1";
  std::vector<std::uint64_t> ends_;  // of the file, behind each item
};

TEST_P(Unfinished, archive_cut_off_at_any_byte_keeps_the_items_before_it) {
  write({70, 0, 50});
  const auto bytes = read_whole(file_);
  ASSERT_EQ(bytes.size(), ends_.back());
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const std::string cut = directory_ / "cut";
    write_whole(cut, std::span(bytes).first(size));
    const auto whole = static_cast<std::uint64_t>(
        std::ranges::count_if(ends_, [&](std::uint64_t end) { return end <= size; }));
    const auto kept = keep_whole_items(cut);
    ASSERT_TRUE(kept) << size << " bytes: " << kept.error().message;
    ASSERT_EQ(*kept, whole) << size << " bytes";
    if (whole > 0) {
      ASSERT_EQ(items_of(cut), whole) << size << " bytes";
    }
  }
}

TEST_P(Unfinished, archive_with_items_of_many_blocks_keeps_the_whole_ones) {
  write({300'000, 200'000, 400'000});
  auto bytes = read_whole(file_);
  bytes.resize(bytes.size() - 150'000);
  write_whole(file_, bytes);
  const auto recovered = recover_archive(file_, "", Existing::refuse);
  ASSERT_TRUE(recovered) << recovered.error().message;
  EXPECT_EQ(recovered->items, 2u);
  EXPECT_EQ(recovered->path, directory_ / "x.msa");
  EXPECT_EQ(items_of(directory_ / "x.msa"), 2u);
  EXPECT_THAT(directory_.names(), ElementsAre("x.msa"));
}

TEST_P(Unfinished, archive_without_a_whole_item_stays_as_it_is) {
  write({10});
  std::filesystem::resize_file(file_, ends_[0] - 1);
  const auto recovered = recover_archive(file_, "", Existing::refuse);
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code, ErrorCode::corrupt);
  EXPECT_THAT(recovered.error().message, HasSubstr("no whole item"));
  EXPECT_THAT(directory_.names(), ElementsAre("x.msa.part-1"));
}

TEST_P(Unfinished, archive_is_refused_a_name_that_is_taken) {
  write({10});
  write_whole(directory_ / "x.msa", {});
  const auto refused = recover_archive(file_, "", Existing::refuse);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("exists already"));
  ASSERT_TRUE(recover_archive(file_, directory_ / "y.msa", Existing::refuse));
  EXPECT_EQ(items_of(directory_ / "y.msa"), 1u);
}

TEST_P(Unfinished, archive_stays_as_it_is_if_its_new_name_cannot_be_given) {
  write({10, 20});
  auto bytes = read_whole(file_);
  bytes.pop_back();
  write_whole(file_, bytes);
  const auto nowhere = recover_archive(file_, directory_ / "none/y.msa", Existing::replace);
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("make its directory first"));
  std::filesystem::create_directory(directory_ / "folder");
  const auto folder = recover_archive(file_, directory_ / "folder", Existing::replace);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("name a file"));
  EXPECT_EQ(read_whole(file_), bytes);
}

/// As of `weft archive merge --zstd`, which flushes nothing before its end.
TEST(recover, names_the_items_of_a_stream_that_was_never_flushed) {
  const TestDirectory directory;
  const std::string file = directory / "x.msa.part-1";
  auto output = FileOutput::create(directory / "x.msa", Existing::refuse, "1");
  ASSERT_TRUE(output);
  auto writer = ArchiveWriter::create(
      std::move(*output), new_archive_format(ArchiveType::microslices, ArchiveCompression::zstd));
  ASSERT_TRUE(writer);
  Rng rng(1);
  std::vector<std::byte> content(40'000);
  MicrosliceDescriptor d;
  d.size = static_cast<std::uint32_t>(content.size());
  for (int i = 0; i < 30; ++i) {
    for (auto& b : content) b = static_cast<std::byte>(rng.next());
    ASSERT_TRUE((*writer)->write(d, content));
  }
  (*writer)->leave();
  const auto refused = recover_archive(file, "", Existing::refuse);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, ContainsRegex("weft archive cut --count [0-9]+ copies"));
  EXPECT_EQ(hint_at_recovery(file), "");
}

TEST_P(Unfinished, archive_that_is_still_written_is_left_alone) {
  auto output = FileOutput::create(directory_ / "x.msa", Existing::refuse, "1");
  ASSERT_TRUE(output);
  EXPECT_TRUE(is_being_written(file_));
  const auto refused = recover_archive(file_, "", Existing::refuse);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("still writing"));
  (*output)->leave();
  EXPECT_FALSE(is_being_written(file_));
}

TEST_P(Unfinished, archive_is_found_by_the_name_that_it_will_have) {
  write({10, 20});
  const std::string name = directory_ / "x.msa";
  EXPECT_THAT(hint_at_recovery(name), HasSubstr("x.msa.part-1, which weft archive recover"));
  EXPECT_THAT(hint_at_recovery(file_), HasSubstr("weft archive recover " + file_));
  EXPECT_EQ(hint_at_recovery(directory_ / "x"), "");
  const auto bytes = read_whole(file_);
  write_whole(directory_ / "x.msa.part-2", bytes);
  const auto refused = recover_archive(name, "", Existing::refuse);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("name one of " + file_ + ", "));
  EXPECT_THAT(refused.error().message, HasSubstr("x.msa.part-2"));
  std::filesystem::remove(directory_ / "x.msa.part-2");
  const auto recovered = recover_archive(name, "", Existing::refuse);
  ASSERT_TRUE(recovered) << recovered.error().message;
  EXPECT_EQ(items_of(name), 2u);
}

TEST_P(Unfinished, archive_that_is_damaged_before_whole_items_stays_as_it_is) {
  write({4'000, 4'000, 4'000, 4'000});
  auto bytes = read_whole(file_);
  // The descriptor and the first bytes of the second item, or a compressed block of it.
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(ends_[0]), 200, std::byte{0xff});
  write_whole(file_, bytes);
  const auto refused = recover_archive(file_, "", Existing::refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupt);
  EXPECT_EQ(read_whole(file_), bytes);
}

TEST(recover, refuses_a_file_that_has_not_the_name_of_an_unfinished_one) {
  const TestDirectory directory;
  write_whole(directory / "some.tsa", {});
  const auto refused = recover_archive(directory / "some.tsa", "", Existing::refuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("NAME.part-PID"));
  EXPECT_FALSE(recover_archive(directory / "some.tsa", directory / "other.tsa", Existing::refuse));
  EXPECT_THAT(directory.names(), ElementsAre("some.tsa"));
}

TEST(recover, takes_regular_files_with_the_number_of_a_process_alone) {
  const TestDirectory directory;
  const std::string name = directory / "x.msa";
  const auto refusal = [](const std::string& file) {
    return recover_archive(file, "", Existing::refuse).error().message;
  };
  write_whole(name + ".part-old", {});
  std::filesystem::create_directory(name + ".part-1");
  ASSERT_EQ(::mkfifo((name + ".part-2").c_str(), 0600), 0);
  const int writer = ::open((name + ".part-2").c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_THAT(refusal(name), HasSubstr("none is beside it"));
  EXPECT_EQ(hint_at_recovery(name), "");
  EXPECT_THAT(refusal(name + ".part-old"), HasSubstr("is no unfinished file, NAME.part-PID"));
  EXPECT_THAT(refusal(name + ".part-1"), HasSubstr(".part-1' is no regular file"));
  EXPECT_THAT(refusal(name + ".part-2"), HasSubstr(".part-2' is no regular file"));
  EXPECT_THAT(refusal(name + ".part-old/y.msa"), HasSubstr("x.msa.part-old': Not a directory"));
  ::close(writer);
}

TEST(recover, says_that_an_empty_file_can_go) {
  const TestDirectory directory;
  write_whole(directory / "x.msa.part-3-2", {});
  EXPECT_THAT(recover_archive(directory / "x.msa", "", Existing::refuse).error().message,
              HasSubstr("x.msa.part-3-2' is empty; remove it"));
}

INSTANTIATE_TEST_SUITE_P(archive, Unfinished,
                         ::testing::Values(ArchiveCompression::none, ArchiveCompression::zstd),
                         [](const auto& info) {
                           return info.param == ArchiveCompression::none ? "plain" : "zstd";
                         });

}  // namespace
}  // namespace weft::wire
