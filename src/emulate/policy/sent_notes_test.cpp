// SPDX-License-Identifier: Apache-2.0
#include "emulate/policy/sent_notes.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace weft::emulate {
namespace {

constexpr NoteKey kSmall{8, 0, 0};
constexpr NoteKey kTagged{8, 7, 1};

TEST(sent_notes, messages_that_look_alike_have_their_notes_in_order) {
  const auto notes = std::make_unique<SentNotes>();
  SentNote note{};
  EXPECT_FALSE(notes->take(kSmall, note));
  notes->add(kSmall, {10, 11, 1});
  notes->add(kTagged, {20, 21, 2});
  notes->add(kSmall, {30, 31, 3});
  ASSERT_TRUE(notes->take(kTagged, note));
  EXPECT_EQ(note.sent, 20);
  ASSERT_TRUE(notes->take(kSmall, note));
  EXPECT_EQ(note.sent, 10);
  ASSERT_TRUE(notes->take(kSmall, note));
  EXPECT_EQ(note.sent, 30);
  EXPECT_EQ(note.departure, 31);
  EXPECT_EQ(note.latency, 3);
  EXPECT_FALSE(notes->take(kSmall, note));
}

TEST(sent_notes, who_only_reads_a_note_leaves_it) {
  const auto notes = std::make_unique<SentNotes>();
  SentNote note{};
  EXPECT_FALSE(notes->read(kSmall, note));
  notes->add(kSmall, {10, 11, 1, 5});
  notes->add(kSmall, {20, 21, 2, 6});
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(notes->read(kSmall, note));
    EXPECT_EQ(note.sent, 10);
    EXPECT_EQ(note.sender, 5U);
  }
  ASSERT_TRUE(notes->take(kSmall, note));
  EXPECT_EQ(note.sent, 10);
  ASSERT_TRUE(notes->read(kSmall, note));
  EXPECT_EQ(note.sent, 20);
}

TEST(sent_notes, a_message_that_was_not_sent_has_none) {
  const auto notes = std::make_unique<SentNotes>();
  SentNote note{};
  const std::uint64_t number = notes->add(kSmall, {10, 11, 1});
  notes->add(kSmall, {20, 21, 1});
  notes->take_back(number);
  ASSERT_TRUE(notes->take(kSmall, note));
  EXPECT_EQ(note.sent, 20);
  notes->take_back(number);
  EXPECT_FALSE(notes->take(kSmall, note));
}

TEST(sent_notes, those_that_nobody_takes_make_room) {
  const auto notes = std::make_unique<SentNotes>();
  SentNote note{};
  for (Picoseconds i = 0; i < 3 * static_cast<Picoseconds>(SentNotes::kPlaces); ++i) {
    notes->add(kTagged, {i, i, 0});
  }
  notes->add(kSmall, {1, 2, 3});
  ASSERT_TRUE(notes->take(kSmall, note));
  EXPECT_EQ(note.sent, 1);
  ASSERT_TRUE(notes->take(kTagged, note));
  EXPECT_EQ(note.sent, 2 * static_cast<Picoseconds>(SentNotes::kPlaces) + 1);
}

TEST(sent_notes, senders_write_at_once_and_no_note_is_taken_twice) {
  const auto notes = std::make_unique<SentNotes>();
  constexpr Picoseconds kEach = 100;  // less than there are places, from both
  const auto send = [&](std::uint64_t tag) {
    for (Picoseconds i = 1; i <= kEach; ++i) notes->add({8, tag, 1}, {i, 2 * i, 3 * i});
  };
  std::thread first([&] { send(1); });
  std::thread second([&] { send(2); });
  Picoseconds last[3] = {0, 0, 0};
  while (last[1] < kEach || last[2] < kEach) {
    for (const std::uint64_t tag : {1U, 2U}) {
      SentNote note{};
      if (!notes->take({8, tag, 1}, note)) continue;
      ASSERT_EQ(note.sent, last[tag] + 1);
      ASSERT_EQ(note.departure, 2 * note.sent);
      ASSERT_EQ(note.latency, 3 * note.sent);
      last[tag] = note.sent;
    }
  }
  first.join();
  second.join();
}

}  // namespace
}  // namespace weft::emulate
