// SPDX-License-Identifier: Apache-2.0
#include "process/keeping_watch.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft {
namespace {

constexpr Instant begun{};
constexpr ByteCount plenty = ByteCount::mib(1 << 20);

Instant at(double seconds) {
  return begun + Duration(static_cast<std::int64_t>(seconds * 1e9));
}

class Watched {
 public:
  explicit Watched(const KeepingWatch::Limits& limits)
      : watch_(limits, begun, [this](KeepingWatch::Kind kind, const std::string& why) {
          told_.push_back(static_cast<char>(kind) + why);
        }) {}
  KeepingWatch* operator->() { return &watch_; }
  const std::vector<std::string>& told() const { return told_; }

 private:
  std::vector<std::string> told_;
  KeepingWatch watch_;
};

TEST(keeping_watch, copies_may_take_the_share_of_the_time_beyond_the_first_of_it) {
  Watched watch({.memory = plenty, .share_of_time = 0.1});
  // 125 ms, of which 25 are free: a tenth of 1 s.
  watch->took(Duration::milliseconds(125), ByteCount::mib(100));
  watch->look(at(1.0), ByteCount::mib(100), false);
  EXPECT_TRUE(watch.told().empty());
  watch->took(Duration::milliseconds(1), ByteCount::mib(1));
  watch->look(at(1.0), ByteCount::mib(101), false);
  ASSERT_EQ(watch.told().size(), 1u);
  EXPECT_NE(watch.told()[0].find("has spent 0.13 of its 1 s on copies of 101 MiB"),
            std::string::npos)
      << watch.told()[0];
}

TEST(keeping_watch, messages_that_are_not_timed_count_like_those_that_are) {
  Watched watch({.memory = plenty, .share_of_time = 0.1});
  watch->took(Duration::milliseconds(10), ByteCount::mib(10));
  // 10 + 115 of 1 ms for a MiB.
  watch->look(at(1.0), ByteCount::mib(125), false);
  EXPECT_TRUE(watch.told().empty());
  watch->look(at(1.0), ByteCount::mib(126), false);
  EXPECT_EQ(watch.told().size(), 1u);
}

TEST(keeping_watch, a_copy_that_lost_its_core_does_not_count_for_more_than_a_slow_one) {
  Watched watch({.memory = plenty, .share_of_time = 0.1});
  // A whole slice of somebody else, for 40 KiB, would make 200 ms of the short messages.
  watch->took(Duration::milliseconds(8), ByteCount::kib(40));
  watch->look(at(1.0), ByteCount::mib(1), false);
  EXPECT_TRUE(watch.told().empty());
  watch->look(at(1.0), ByteCount(31'000'000), false);  // 4 ns each
  EXPECT_TRUE(watch.told().empty());
  watch->look(at(1.0), ByteCount(32'000'000), false);
  EXPECT_EQ(watch.told().size(), 1u);
}

TEST(keeping_watch, short_messages_alone_count_as_copied_at_10_GB_a_second) {
  Watched watch({.memory = plenty, .share_of_time = 0.1});
  watch->look(at(1.0), ByteCount(1'249'000'000), false);
  EXPECT_TRUE(watch.told().empty());
  watch->look(at(1.0), ByteCount(1'251'000'000), false);
  EXPECT_EQ(watch.told().size(), 1u);
}

TEST(keeping_watch, memory_is_a_limit_whatever_the_time) {
  Watched watch({.memory = ByteCount::mib(1), .share_of_time = {}});
  watch->took(Duration::seconds(1), ByteCount::mib(1));
  watch->look(at(0.1), ByteCount::mib(1), false);
  EXPECT_TRUE(watch.told().empty());
  watch->look(at(0.1), ByteCount::mib(2), false);
  ASSERT_EQ(watch.told().size(), 1u);
  EXPECT_NE(watch.told()[0].find("keeps 2 MiB"), std::string::npos) << watch.told()[0];
  EXPECT_NE(watch.told()[0].find("the limit is 1 MiB"), std::string::npos) << watch.told()[0];
}

TEST(keeping_watch, a_message_without_room_is_too_much_at_once_and_is_told_once) {
  Watched watch({.memory = ByteCount::mib(1), .share_of_time = {}});
  watch->look(at(0.1), ByteCount(100), true);
  watch->look(at(0.2), ByteCount(100), true);
  ASSERT_EQ(watch.told().size(), 1u);
  EXPECT_NE(
      watch.told()[0].find(
          "keeps 100 B of messages for restarts of other ranks, and the next one does not fit"),
      std::string::npos)
      << watch.told()[0];
}

TEST(keeping_watch, a_message_without_room_on_a_disk_names_the_disk) {
  Watched watch({.memory = KeepingWatch::unlimited, .share_of_time = {}});
  watch->look(at(0.1), ByteCount(100), true);
  ASSERT_EQ(watch.told().size(), 1u);
  EXPECT_NE(watch.told()[0].find("the disk of --spill has no more room"), std::string::npos)
      << watch.told()[0];
}

TEST(keeping_watch, memory_is_told_also_after_time_was) {
  Watched watch({.memory = ByteCount::mib(200), .share_of_time = 0.1});
  watch->took(Duration::milliseconds(300), ByteCount::mib(100));
  watch->look(at(1.0), ByteCount::mib(100), false);
  watch->look(at(1.0), ByteCount::mib(200), false);
  watch->look(at(1.0), ByteCount::mib(300), false);
  ASSERT_EQ(watch.told().size(), 2u);
  EXPECT_EQ(watch.told()[0][0], 't');
  EXPECT_EQ(watch.told()[1][0], 'm');
}

}  // namespace
}  // namespace weft
