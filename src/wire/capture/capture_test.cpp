// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/archive/golden.hpp"
#include "wire/capture/capture_reader.hpp"
#include "wire/capture/capture_writer.hpp"

namespace weft::wire {
namespace {

using ::testing::HasSubstr;

struct Kept {
  std::uint64_t number = 0, time_ns = 0;
  LinkType link{};
  std::uint32_t original = 0;
  std::vector<std::byte> bytes;
};

class capture : public ::testing::Test {
 protected:
  std::vector<Kept> read(const std::string& name) {
    std::vector<Kept> all;
    auto reader = CaptureReader::open(directory_ / name);
    EXPECT_TRUE(reader) << reader.error().message;
    CapturedFrame frame;
    for (;;) {
      const auto more = reader->next(frame);
      if (!more) {
        problem_ = more.error().message;
        problem_at_ = reader->position();
      }
      if (!more || !*more) return all;
      all.push_back({frame.number,
                     frame.time_ns,
                     frame.link,
                     frame.original,
                     {frame.bytes.begin(), frame.bytes.end()}});
    }
  }
  std::vector<Kept> read_hex(std::string_view text) {
    write_whole(directory_ / "x", bytes_from_hex(text));
    return read("x");
  }
  const TestDirectory directory_;
  std::string problem_;
  CaptureReader::Position problem_at_;
};

TEST_F(capture, is_read_while_it_is_written) {
  const std::string path = directory_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  // Open for reading too: nobody waits here, and the reader never sees an end.
  const int pipe = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto bytes = bytes_from_hex(
      "d4c3b2a1 02000400 00000000 00000000 ffff0000 01000000"
      "01000000 02000000 02000000 02000000 abcd");
  ASSERT_EQ(::write(pipe, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  auto reader = CaptureReader::open(path);
  ASSERT_TRUE(reader) << reader.error().message;
  CapturedFrame frame;
  const auto more = reader->next(frame);
  ASSERT_TRUE(more && *more);
  EXPECT_EQ(frame.bytes.size(), 2u);
  ::close(pipe);
}

TEST_F(capture, of_every_format_and_link_reads_as_it_was_written) {
  const auto frame = golden("roce_cnp.frame");
  for (const char* name : {"a.pcap", "a.pcapng", "a.erf"}) {
    for (const LinkType link : {LinkType::ethernet, LinkType::infiniband}) {
      const std::string path = directory_ / name;
      auto writer = CaptureWriter::create(path, capture_format_of(path), link);
      ASSERT_TRUE(writer);
      for (std::uint64_t i = 0; i < 3; ++i) {
        ASSERT_TRUE(
            writer->write(1'700'000'000'123'456'789 + i, std::span(frame).first(60 + i), 80));
      }
      ASSERT_TRUE(writer->commit());
      const auto kept = read(name);
      EXPECT_EQ(problem_, "");
      ASSERT_EQ(kept.size(), 3u) << name;
      for (std::uint64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(kept[i].number, i + 1);
        EXPECT_EQ(kept[i].time_ns, 1'700'000'000'123'456'789 + i) << name;
        EXPECT_EQ(kept[i].link, link);
        EXPECT_EQ(kept[i].original, 80u);
        EXPECT_TRUE(std::equal(kept[i].bytes.begin(), kept[i].bytes.end(), frame.begin(),
                               frame.begin() + 60 + static_cast<long>(i)));
      }
    }
  }
}

TEST_F(capture, in_pcap_of_either_byte_order_and_of_microseconds_reads) {
  const auto big = read_hex(
      "a1 b2 c3 d4 00 02 00 04 00 00 00 00 00 00 00 00 00 00 ff ff 00 00 00 01"
      "00 00 00 02 00 00 00 03 00 00 00 02 00 00 00 09 \"ab\"");
  ASSERT_EQ(big.size(), 1u);
  EXPECT_EQ(big[0].time_ns, 2'000'003'000u);
  EXPECT_EQ(big[0].original, 9u);
  const auto little = read_hex(
      "d4 c3 b2 a1 02 00 04 00 00 00 00 00 00 00 00 00 ff ff 00 00 01 00 00 00"
      "02 00 00 00 03 00 00 00 02 00 00 00 09 00 00 00 \"ab\"");
  ASSERT_EQ(little.size(), 1u);
  EXPECT_EQ(little[0].time_ns, 2'000'003'000u);
}

TEST_F(capture, of_several_interfaces_has_each_ones_link_and_clock) {
  const auto kept = read_hex(
      "0a 0d 0d 0a 1c 00 00 00 4d 3c 2b 1a 01 00 00 00 ff ff ff ff ff ff ff ff 1c 00 00 00"
      "01 00 00 00 14 00 00 00 01 00 00 00 00 00 00 00 14 00 00 00"
      "01 00 00 00 20 00 00 00 f7 00 00 00 00 00 00 00 09 00 01 00 09 00 00 00 00 00 00 00"
      "20 00 00 00"
      "05 00 00 00 0c 00 00 00 0c 00 00 00"  // statistics: of no use here
      "06 00 00 00 24 00 00 00 01 00 00 00 00 00 00 00 07 00 00 00 01 00 00 00 01 00 00 00"
      "61 00 00 00 24 00 00 00"
      "06 00 00 00 24 00 00 00 00 00 00 00 00 00 00 00 07 00 00 00 01 00 00 00 01 00 00 00"
      "62 00 00 00 24 00 00 00");
  EXPECT_EQ(problem_, "");
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].link, LinkType::infiniband);
  EXPECT_EQ(kept[0].time_ns, 7u);
  EXPECT_EQ(kept[1].link, LinkType::ethernet);
  EXPECT_EQ(kept[1].time_ns, 7'000u);
}

TEST_F(capture, with_erf_records_in_pcap_has_the_frames_of_the_records) {
  // As ibdump writes: link type 197, record type 21, with one extension header.
  const auto kept = read_hex(
      "d4 c3 b2 a1 02 00 04 00 00 00 00 00 00 00 00 00 ff ff 00 00 c5 00 00 00"
      "00 00 00 00 00 00 00 00 1a 00 00 00 1a 00 00 00"
      "00 00 00 80 05 00 00 00 95 04 00 1a 00 00 00 02"
      "00 00 00 00 00 00 00 00 \"ab\"");
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].link, LinkType::infiniband);
  EXPECT_EQ(kept[0].time_ns, 5'500'000'000u);
  EXPECT_EQ(kept[0].bytes, bytes_from_hex("\"ab\""));
}

TEST_F(capture, that_is_cut_says_so_behind_what_was_whole) {
  auto bytes = golden("packets.pcap");
  const auto whole = [&] {
    write_whole(directory_ / "x", bytes);
    return read("x").size();
  };
  EXPECT_EQ(whole(), 4u);
  EXPECT_EQ(problem_, "");
  bytes.pop_back();
  EXPECT_EQ(whole(), 3u);
  EXPECT_THAT(problem_, HasSubstr("truncated"));
  EXPECT_EQ(problem_at_.packet, 4u);
  EXPECT_GT(problem_at_.offset, 24u);
  EXPECT_LT(problem_at_.offset, bytes.size() - 15);
}

TEST_F(capture, with_a_broken_erf_record_in_pcap_names_that_packet_and_its_place) {
  read_hex(
      "d4 c3 b2 a1 02 00 04 00 00 00 00 00 00 00 00 00 ff ff 00 00 c5 00 00 00"
      "00 00 00 00 00 00 00 00 12 00 00 00 12 00 00 00"
      "00 00 00 80 05 00 00 00 15 04 00 12 00 00 00 02 \"ab\""
      "00 00 00 00 00 00 00 00 02 00 00 00 02 00 00 00 \"ab\"");
  EXPECT_THAT(problem_, HasSubstr("too short for an ERF record"));
  EXPECT_EQ(problem_at_.packet, 2u);
  EXPECT_EQ(problem_at_.offset, 58u);
}

TEST_F(capture, that_is_compressed_says_how_to_decompress_it) {
  const auto refusal = [&](std::string_view head, std::size_t size) {
    auto bytes = bytes_from_hex(head);
    // These bytes would do for records of ERF.
    while (bytes.size() < size) bytes.push_back(std::byte{0x15});
    write_whole(directory_ / "x", bytes);
    const auto reader = CaptureReader::open(directory_ / "x");
    return reader ? std::string("read") : reader.error().message;
  };
  for (const std::size_t size : {20, 100'000}) {
    EXPECT_THAT(refusal("1f 8b 08 00 00 00 00 00", size), HasSubstr("gunzip"));
    EXPECT_THAT(refusal("28 b5 2f fd 24 00 00 00", size), HasSubstr("zstd -d"));
    EXPECT_THAT(refusal("fd 37 7a 58 5a 00 00 04", size), HasSubstr("unxz"));
    EXPECT_THAT(refusal("42 5a 68 39 31 41 59 26", size), HasSubstr("bunzip2"));
    EXPECT_THAT(refusal("\"snoop\" 00 00 00", size), HasSubstr("editcap"));
  }
  EXPECT_THAT(refusal("", 0), HasSubstr("is empty"));
}

TEST_F(capture, that_random_bytes_could_be_is_none) {
  // A first record that makes sense, and none behind it.
  std::vector<std::byte> bytes(4'096, std::byte{0xFF});
  const auto record = bytes_from_hex("00 00 00 80 05 00 00 00 15 04 00 20 00 00 00 10");
  std::copy(record.begin(), record.end(), bytes.begin());
  write_whole(directory_ / "x", bytes);
  EXPECT_FALSE(CaptureReader::open(directory_ / "x"));
}

TEST_F(capture, that_a_pipe_still_writes_ends_when_somebody_wants_an_end) {
  const std::string path = directory_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int pipe = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto bytes = bytes_from_hex(
      "d4c3b2a1 02000400 00000000 00000000 ffff0000 01000000"
      "01000000 02000000 02000000 02000000 abcd 0100");
  ASSERT_EQ(::write(pipe, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  int asked = 0;
  auto reader = CaptureReader::open(path, [&] { return ++asked > 3; });
  ASSERT_TRUE(reader) << reader.error().message;
  CapturedFrame frame;
  const auto first = reader->next(frame);
  ASSERT_TRUE(first && *first);
  const auto second = reader->next(frame);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_FALSE(*second);
  ::close(pipe);
}

TEST_F(capture, whose_beginning_has_not_come_ends_when_somebody_wants_an_end) {
  const std::string path = directory_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto ends_without_packets = [&] {
    int asked = 0;
    auto reader = CaptureReader::open(path, [&] { return ++asked > 3; });
    ASSERT_TRUE(reader) << reader.error().message;
    CapturedFrame frame;
    const auto more = reader->next(frame);
    ASSERT_TRUE(more) << more.error().message;
    EXPECT_FALSE(*more);
    EXPECT_GT(asked, 3);
  };
  ends_without_packets();  // nobody writes
  const int pipe = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto begun = bytes_from_hex("d4c3b2a1 02000400 00000000 00000000 ffff00");
  for (const std::size_t came : {0, 3, 19}) {
    ASSERT_EQ(::write(pipe, begun.data(), came), static_cast<ssize_t>(came));
    ends_without_packets();
  }
  ::close(pipe);
}

TEST_F(capture, with_absurd_lengths_is_refused) {
  const std::string_view head =
      "d4 c3 b2 a1 02 00 04 00 00 00 00 00 00 00 00 00 ff ff 00 00 01 00 00 00";
  EXPECT_TRUE(read_hex(std::string(head) + "00 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff \"ab\"")
                  .empty());
  EXPECT_THAT(problem_, HasSubstr("4294967295 bytes long"));
  write_whole(directory_ / "x", bytes_from_hex("\"no capture at all\""));
  EXPECT_THAT(CaptureReader::open(directory_ / "x").error().message,
              HasSubstr("no packet capture"));
}

}  // namespace
}  // namespace weft::wire
