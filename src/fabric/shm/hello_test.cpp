// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/hello.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "fabric/shm/segment.hpp"

namespace weft::shm {
namespace {

TEST(shm_note, says_what_was_said) {
  const Note note{NoteKind::hello, {1, 2, 3, 4}, 5, 6, true};
  const auto read = decode_note(encode(note));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->kind, NoteKind::hello);
  EXPECT_EQ(read->segment.process, 1u);
  EXPECT_EQ(read->segment.descriptor, 2u);
  EXPECT_EQ(read->segment.nonce, 3u);
  EXPECT_EQ(read->segment.ring_size, 4u);
  EXPECT_EQ(read->processes, 5u);
  EXPECT_EQ(read->probe, 6u);
  EXPECT_TRUE(read->can_pull);
}

TEST(shm_note, is_refused_when_short_long_or_of_another_version) {
  const NoteBytes bytes = encode(Note{});
  const std::span<const std::byte> all(bytes);
  for (std::size_t n = 0; n < bytes.size(); ++n) EXPECT_FALSE(decode_note(all.first(n))) << n;
  std::vector<std::byte> longer(bytes.begin(), bytes.end());
  longer.push_back({});
  EXPECT_FALSE(decode_note(longer));
  for (const std::size_t at : {0, 3, 4, 7}) {  // version and kind
    NoteBytes other = bytes;
    other[at] ^= std::byte{0x40};
    EXPECT_FALSE(decode_note(other)) << at;
  }
}

template <class T>
std::vector<std::byte> raw(const T& value, std::size_t extra = 0) {
  std::vector<std::byte> bytes(sizeof value + extra);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

TEST(shm_write, is_refused_when_shorter_than_its_header_or_longer_than_the_whole) {
  EXPECT_FALSE(decode_write(std::vector<std::byte>(sizeof(WriteHeader) - 1)));
  EXPECT_FALSE(decode_write(raw(WriteHeader{1, 2, 9}, 10)));
  EXPECT_TRUE(decode_write(raw(WriteHeader{1, 2, 10}, 10)));
  EXPECT_TRUE(decode_write(raw(WriteHeader{1, 2, 1000}, 10)));
}

TEST(shm_pull, is_refused_when_its_size_is_not_what_it_has_or_its_pieces_overflow) {
  PullRequest request{1, 2, {{{100, 10}, {200, 20}}}};
  ASSERT_TRUE(decode_pull(raw(request)));
  EXPECT_EQ(decode_pull(raw(request))->size(), 30u);
  EXPECT_FALSE(decode_pull(raw(request, 1)));
  request.pieces[1].size = ~std::uint64_t{0};
  EXPECT_FALSE(decode_pull(raw(request)));
}

TEST(shm_segment, is_found_by_its_name_only_with_the_right_nonce_and_size) {
  auto made = Segment::make(kSmallestRing, 42);
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(Segment::find(made->name()).ok());
  SegmentName wrong = made->name();
  wrong.nonce = 43;
  EXPECT_FALSE(Segment::find(wrong).ok());
  wrong = made->name();
  wrong.ring_size *= 2;
  EXPECT_FALSE(Segment::find(wrong).ok());
  wrong.ring_size = ~std::uint64_t{0};
  EXPECT_FALSE(Segment::find(wrong).ok());
}

TEST(shm_segment, shares_its_bytes_with_whoever_found_it) {
  auto made = Segment::make(kSmallestRing, 42);
  ASSERT_TRUE(made.ok());
  auto found = Segment::find(made->name());
  ASSERT_TRUE(found.ok());
  made->ring().data[77] = std::byte{9};
  EXPECT_EQ(found->ring().data[77], std::byte{9});
}

TEST(shm_segment, is_not_found_any_more_once_its_descriptor_is_forgotten) {
  auto made = Segment::make(kSmallestRing, 42);
  ASSERT_TRUE(made.ok());
  made->forget_descriptor();
  EXPECT_FALSE(Segment::find(made->name()).ok());
}

TEST(shm_segment, a_descriptor_of_something_else_is_never_mapped) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  SegmentName name{static_cast<std::uint32_t>(::getpid()), 0, 0, kSmallestRing};
  for (const int fd : {0, 1, 2, ends[0], ends[1], 999'999}) {
    name.descriptor = static_cast<std::uint32_t>(fd);
    EXPECT_FALSE(Segment::find(name).ok()) << fd;
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(shm_host, is_the_same_for_all_processes_of_this_user_here) {
  EXPECT_NE(host_identity(), 0u);
  EXPECT_EQ(host_identity(), host_identity());
}

}  // namespace
}  // namespace weft::shm
