// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/writer.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/existing_file.hpp"
#include "wire/archive/golden.hpp"
#include "wire/archive/reader.hpp"

namespace weft::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Reads `from` and writes the same items to `to`, with the format changed by `change`.
template <class Change>
void rewrite(const std::string& from, const std::string& to, Change change) {
  auto reader = ArchiveReader::open(from);
  ASSERT_TRUE(reader) << reader.error().message;
  std::unique_ptr<ArchiveWriter> writer;
  for (;;) {
    const auto more = reader->next();
    ASSERT_TRUE(more) << more.error().message;
    if (!writer) {
      ArchiveFormat format = reader->format();
      change(format);
      auto created = ArchiveWriter::create(to, format, 1, Existing::replace);
      ASSERT_TRUE(created) << created.error().message;
      writer = std::move(*created);
    }
    if (!*more) break;
    const auto written =
        reader->type() == ArchiveType::microslices
            ? writer->write(reader->microslice().descriptor, reader->microslice().content)
            : writer->write(reader->timeslice());
    ASSERT_TRUE(written) << written.error().message;
  }
  const auto finished = writer->finish();
  ASSERT_TRUE(finished) << finished.error().message;
}

void rewrite(const std::string& from, const std::string& to) {
  rewrite(from, to, [](ArchiveFormat&) {});
}

TEST(archive_writer, writes_the_bytes_of_the_goldens) {
  const TestDirectory directory;
  for (const char* name : {"microslices.msa", "timeslices.tsa", "timeslices_oldest.tsa"}) {
    write_whole(directory / "in", golden(name));
    rewrite(directory / "in", directory / "out");
    EXPECT_EQ(read_whole(directory / "out"), golden(name)) << name;
  }
  EXPECT_THAT(directory.names(), ElementsAre("in", "out"));
}

void expect_rewritten_identically(const char* name) {
  const auto path = reference_archive(name);
  if (!path) {
    GTEST_SKIP() << "no " << name
                 << ": set WEFT_REFERENCE_ARCHIVES to a directory with FLESnet's examples";
  }
  const TestDirectory directory;
  rewrite(*path, directory / "same");
  EXPECT_EQ(read_whole(directory / "same"), read_whole(*path));
  // Through zstd and back: the items' bytes are the same again.
  ArchiveFormat original;
  rewrite(*path, directory / "zstd", [&](ArchiveFormat& format) {
    original = format;
    format.descriptor_version = 2;
    format.compression = ArchiveCompression::zstd;
  });
  EXPECT_NE(read_whole(directory / "zstd"), read_whole(*path));
  rewrite(directory / "zstd", directory / "back",
          [&](ArchiveFormat& format) { format = original; });
  EXPECT_EQ(read_whole(directory / "back"), read_whole(*path));
}

TEST(archive_writer, writes_flesnets_example1_msa_byte_for_byte) {
  expect_rewritten_identically("example1.msa");
}
TEST(archive_writer, writes_flesnets_example1_tsa_byte_for_byte) {
  expect_rewritten_identically("example1.tsa");
}
TEST(archive_writer, writes_flesnets_example2_msa_byte_for_byte) {
  expect_rewritten_identically("example2.msa");
}

TEST(archive_writer, writes_a_timeslice_view_without_wefts_own_flags) {
  const TestDirectory directory;
  auto writer = ArchiveWriter::create(
      directory / "x.tsa", new_archive_format(ArchiveType::timeslices, ArchiveCompression::zstd));
  std::vector<std::byte> data(32 + 5);
  MicrosliceDescriptor d;
  d.index = 700;
  d.size = 5;
  d.offset = 12'345;
  std::memcpy(data.data(), &d, sizeof d);
  const std::vector<ComponentView> components{
      {.flags = 0, .num_microslices = 1, .data = data},
      {bit(TimesliceFlag::missing_components) | bit(TimesliceFlag::late), 0, {}}};
  const auto written = (*writer)->write(
      TimesliceView{.index = TimesliceIndex(7),
                    .start_time = 700,
                    .duration = 100,
                    .flags = bit(TimesliceFlag::missing_components) | bit(TimesliceFlag::repeated),
                    .num_core_microslices = 1,
                    .components = components});
  ASSERT_TRUE(written) << written.error().message;
  ASSERT_TRUE((*writer)->finish());
  auto reader = ArchiveReader::open(directory / "x.tsa");
  ASSERT_TRUE(*reader->next());
  const ArchivedTimeslice& t = reader->timeslice();
  EXPECT_EQ(t.descriptor.flags, bit(TimesliceFlag::missing_components));
  EXPECT_EQ(t.descriptor.duration, 100u);
  EXPECT_EQ(t.components[0].descriptor.size, 37u);
  EXPECT_EQ(t.components[0].descriptor.ts_num, 7u);
  EXPECT_TRUE(std::equal(data.begin(), data.end(), t.components[0].data.begin()));
  EXPECT_EQ(t.components[1].descriptor.flags, bit(TimesliceFlag::missing_components));
}

TEST(archive_writer, file_appears_only_when_finished) {
  const TestDirectory directory;
  {
    auto writer = ArchiveWriter::create(
        directory / "x.msa",
        new_archive_format(ArchiveType::microslices, ArchiveCompression::none));
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->write({}, {}));
    ASSERT_EQ(directory.names().size(), 1u);
    EXPECT_THAT(directory.names()[0], HasSubstr("x.msa.part-"));
  }
  EXPECT_THAT(directory.names(), IsEmpty());
}

/// Writes 1 MiB microslices until it fails, and returns that error.
Error fill_up(const std::string& path, ArchiveCompression compression) {
  auto writer =
      ArchiveWriter::create(path, new_archive_format(ArchiveType::microslices, compression));
  if (!writer) return writer.error();
  std::vector<std::byte> content(1 << 20);
  std::uint32_t state = 1;  // noise, so that zstd has something to write
  for (auto& b : content) b = std::byte((state = state * 1'664'525 + 1'013'904'223) >> 24);
  MicrosliceDescriptor d;
  d.size = static_cast<std::uint32_t>(content.size());
  for (int i = 0; i < 64; ++i) {
    if (const auto written = (*writer)->write(d, content); !written) {
      EXPECT_EQ((*writer)->finish().error().message, written.error().message);
      return written.error();
    }
  }
  return Error{ErrorCode::io, "the disk never filled up"};
}

TEST(archive_writer, full_disk_is_one_clear_error_and_leaves_nothing) {
  const TestDirectory directory;
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4 << 20, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  for (const auto compression : {ArchiveCompression::none, ArchiveCompression::zstd}) {
    const Error error = fill_up(directory / "x.msa", compression);
    EXPECT_EQ(error.code, ErrorCode::exhausted);
    EXPECT_THAT(error.message, HasSubstr("x.msa': File too large"));
    EXPECT_THAT(directory.names(), IsEmpty());
  }
  setrlimit(RLIMIT_FSIZE, &before);
}

TEST(archive_writer, full_device_is_reported) {
  const Error error = fill_up("/dev/full", ArchiveCompression::none);
  EXPECT_EQ(error.code, ErrorCode::exhausted);
  EXPECT_THAT(error.message, HasSubstr("cannot write '/dev/full': No space left on device; free"));
}

TEST(archive_writer, names_a_directory_that_does_not_exist) {
  const auto writer = ArchiveWriter::create(
      "/dev/null/x.tsa", new_archive_format(ArchiveType::timeslices, ArchiveCompression::none));
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::not_found);
  EXPECT_THAT(writer.error().message, HasSubstr("'/dev/null/x.tsa'"));
}

TEST(archive_writer, refuses_a_pipe_that_nobody_reads) {
  const TestDirectory directory;
  const std::string path = directory / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto unread = open_special(path, Duration{});
  ASSERT_FALSE(unread);
  EXPECT_EQ(unread.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(unread.error().message, HasSubstr("nobody reads this pipe"));
  const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  const auto writer = open_special(path, Duration{});
  ASSERT_TRUE(writer) << writer.error().message;
  EXPECT_EQ(::fcntl(*writer, F_GETFL) & O_NONBLOCK, 0) << "a full pipe is waited for";
  ::close(*writer);
  ::close(reader);
}

}  // namespace
}  // namespace weft::wire
