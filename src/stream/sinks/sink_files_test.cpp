// SPDX-License-Identifier: Apache-2.0
#include "stream/sinks/sink_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/system_error.hpp"
#include "stream/sinks/built_timeslice.hpp"
#include "wire/archive/golden.hpp"
#include "wire/archive/reader.hpp"

namespace weft {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using wire::TestDirectory;

class KilledNode : public testing::Test {
 protected:
  /// A life of the node that delivers timeslices of the stream and is killed.
  void live_and_die(const std::string& uri, const SinkPlace& place, std::size_t timeslices = 3) {
    auto sink = open_sink(uri, place);
    ASSERT_TRUE(sink) << sink.error().message;
    for (std::size_t t = 0; t < timeslices; ++t) {
      ASSERT_TRUE((*sink)->consume(timeslices_[t].view()));
    }
    (*sink)->leave();
  }
  /// One that lives to finish.
  void live(const std::string& uri, const SinkPlace& place, std::size_t timeslices = 3) {
    auto sink = open_sink(uri, place);
    ASSERT_TRUE(sink) << sink.error().message;
    for (std::size_t t = 0; t < timeslices; ++t) {
      ASSERT_TRUE((*sink)->consume(timeslices_[t].view()));
    }
    ASSERT_TRUE((*sink)->finish());
  }
  std::uint64_t items_of(const std::string& name) const {
    auto reader = wire::ArchiveReader::open(directory_ / name);
    EXPECT_TRUE(reader) << name;
    if (!reader) return 0;
    for (auto more = reader->next(); *more; more = reader->next()) EXPECT_TRUE(more);
    return reader->items();
  }

  const TestDirectory directory_;
  std::vector<BuiltTimeslice> timeslices_ =
      build_timeslices("pattern:?size=1000", {.inputs = 1}, 3);
};

TEST_F(KilledNode, leaves_an_archive_that_is_completed_with_what_it_delivered) {
  for (const char* name : {"x.tsa", "x.tsa?zstd", "x%s.tsa?items=2"}) {
    const TestDirectory directory;
    const std::vector<std::string> sinks{"check:", "tsa:" + directory / name};
    const SinkPlace place{.run = "1"};
    live_and_die(sinks[1], place);
    ASSERT_THAT(directory.names(), Contains(HasSubstr(".part-1"))) << name;
    const auto ends = complete_files(sinks, place);
    ASSERT_TRUE(ends) << ends.error().message;
    ASSERT_EQ(ends->size(), 1u) << name;
    const bool is_second = std::string_view(name).find("items") != std::string_view::npos;
    EXPECT_EQ(ends->front().timeslices, is_second ? 1u : 3u) << name;
    EXPECT_EQ(ends->front().path, directory / (is_second ? "x0001.tsa" : "x.tsa"));
    EXPECT_THAT(directory.names(), Not(Contains(HasSubstr(".part-1")))) << name;
    std::uint64_t items = 0;
    for (const std::string& file : directory.names()) {
      auto reader = wire::ArchiveReader::open(directory / file);
      ASSERT_TRUE(reader) << file;
      while (*reader->next()) {
      }
      items += reader->items();
    }
    EXPECT_EQ(items, 3u) << name;
  }
}

TEST_F(KilledNode, leaves_no_timeslice_that_it_did_not_write_to_its_end) {
  const std::vector<std::string> sinks{"tsa:" + directory_ / "x.tsa"};
  const SinkPlace place{.run = "1"};
  live_and_die(sinks[0], place);
  auto bytes = wire::read_whole(directory_ / "x.tsa.part-1");
  bytes.resize(bytes.size() - 10);
  wire::write_whole(directory_ / "x.tsa.part-1", bytes);
  const auto ends = complete_files(sinks, place);
  ASSERT_TRUE(ends) << ends.error().message;
  EXPECT_EQ(ends->front().timeslices, 2u);
  EXPECT_EQ(items_of("x.tsa"), 2u);
}

TEST_F(KilledNode, leaves_nothing_when_it_delivered_nothing) {
  const std::vector<std::string> sinks{"tsa:" + directory_ / "x.tsa"};
  const SinkPlace place{.run = "1"};
  live_and_die(sinks[0], place, 0);
  const auto ends = complete_files(sinks, place);
  ASSERT_TRUE(ends) << ends.error().message;
  EXPECT_THAT(*ends, IsEmpty());
  EXPECT_THAT(directory_.names(), IsEmpty());
}

TEST_F(KilledNode, keeps_its_unfinished_archive_when_the_name_has_been_taken) {
  const std::vector<std::string> sinks{"tsa:" + directory_ / "x.tsa"};
  const SinkPlace place{.run = "1"};
  live_and_die(sinks[0], place);
  wire::write_whole(directory_ / "x.tsa", std::vector<std::byte>(10));
  // The file of that name may be one of this run, so the killed node's file cannot have it.
  const auto ends = complete_files(sinks, place);
  ASSERT_FALSE(ends);
  EXPECT_THAT(ends.error().message, HasSubstr("exists already"));
  EXPECT_THAT(ends.error().message, HasSubstr("x.tsa.part-1"));
  EXPECT_EQ(items_of("x.tsa.part-1"), 3u);
}

TEST_F(KilledNode, that_may_replace_files_keeps_the_archive_that_its_earlier_life_finished) {
  const std::vector<std::string> sinks{"tsa:" + directory_ / "x.tsa"};
  live(sinks[0], {.run = "0"}, 1);
  const auto older = find_older_files(sinks, 1, 1);
  ASSERT_EQ(older.size(), 1u);
  SinkPlace place{.replaces_files = true, .run = "1", .older_files = older};
  live(sinks[0], place, 2);
  place.restarted = true;
  live(sinks[0], place, 3);
  EXPECT_EQ(items_of("x.tsa"), 2u + 3u) << "without the one of the older run";
}

TEST_F(KilledNode, that_may_replace_files_does_not_take_over_those_of_another_run) {
  const std::vector<std::string> sinks{"tsa:" + directory_ / "x.tsa"};
  live(sinks[0], {.run = "0"}, 1);
  const auto older = find_older_files(sinks, 1, 1);
  SinkPlace place{.replaces_files = true, .run = "1", .older_files = older};
  live_and_die(sinks[0], place, 2);
  place.restarted = true;
  live(sinks[0], place, 3);
  EXPECT_EQ(items_of("x.tsa"), 2u + 3u);
}

TEST_F(KilledNode, that_may_replace_numbered_files_goes_on_where_it_died) {
  const std::vector<std::string> sinks{"tsa:" + directory_ / "x%s.tsa?items=1"};
  live(sinks[0], {.run = "0"}, 3);
  const auto older = find_older_files(sinks, 1, 1);
  ASSERT_EQ(older.size(), 3u);
  SinkPlace place{.replaces_files = true, .run = "1", .older_files = older};
  live_and_die(sinks[0], place, 2);
  place.restarted = true;
  live(sinks[0], place, 3);
  EXPECT_THAT(directory_.names(),
              ElementsAre("x0000.tsa", "x0001.tsa", "x0002.tsa", "x0003.tsa", "x0004.tsa"));
}

TEST_F(KilledNode, that_was_the_last_to_write_a_file_leaves_it_to_be_named) {
  const std::vector<std::string> sinks{"file:" + directory_ / "out"};
  const SinkPlace place{.run = "1"};
  auto other = open_sink(sinks[0], place);
  ASSERT_TRUE(other);
  auto killed = open_sink(sinks[0], place);
  ASSERT_TRUE(killed);
  wire::write_whole(directory_ / "in", std::vector<std::byte>(100));
  auto pieces = build_timeslices("file:" + directory_ / "in", {.inputs = 1, .per_timeslice = 1});
  ASSERT_TRUE((*killed)->consume(pieces[0].view()));
  ASSERT_TRUE((*other)->finish());
  (*killed)->leave();
  EXPECT_THAT(directory_.names(), Contains("out.part-1"));
  ASSERT_TRUE(complete_files(sinks, place));
  EXPECT_TRUE(*read_text_file(directory_ / "out") == *read_text_file(directory_ / "in"));
}

TEST_F(KilledNode, of_another_run_leaves_archives_that_the_next_run_finds) {
  for (const char* name : {"x%n.tsa", "x%n_%s.tsa?items=2"}) {
    const TestDirectory directory;
    const std::vector<std::string> sinks{"check:", "tsa:" + directory / name};
    live_and_die(sinks[1], {.compute = 1, .computes = 2, .run = "1"});
    const auto left = find_left_behind(sinks, {.compute = 1, .computes = 2, .run = "2"});
    ASSERT_EQ(left.size(), 1u) << name;
    const bool is_numbered = std::string_view(name).find("items") != std::string_view::npos;
    const std::string stem = is_numbered ? "x1_0001" : "x1";
    EXPECT_EQ(left[0].path, directory / (stem + ".tsa.part-1"));
    EXPECT_EQ(left[0].free_name, directory / (stem + "-1.tsa"));
    EXPECT_THAT(find_left_behind(sinks, {.compute = 1, .computes = 2, .run = "1"}), IsEmpty())
        << "its own";
    EXPECT_EQ(find_left_behind(sinks, {.compute = 1, .computes = 2, .run = ""})[0].writer, "1");
    std::filesystem::rename(left[0].path, directory / (stem + ".tsa.part-12"));
    EXPECT_EQ(find_left_behind(sinks, {.compute = 1, .computes = 2, .run = "1"}).size(), 1u)
        << "its number begins with the same digit";
  }
}

TEST_F(KilledNode, of_a_cluster_is_not_written_over_by_a_process_with_its_number) {
  const std::string uri = "tsa:" + directory_ / "x.tsa";
  live_and_die(uri, {});
  const auto left = directory_.names();
  const auto next = open_sink(uri, {});
  ASSERT_FALSE(next);
  EXPECT_THAT(next.error().message, HasSubstr("weft archive recover"));
  EXPECT_EQ(directory_.names(), left);
}

TEST_F(KilledNode, leaves_archives_that_are_found_only_when_nobody_writes_them) {
  const std::vector<std::string> sinks{"tsa:" + directory_ / "x%n.tsa"};
  auto other = open_sink(sinks[0], {.compute = 1, .computes = 2, .run = "1"});
  ASSERT_TRUE(other);
  ASSERT_TRUE((*other)->consume(timeslices_[0].view()));
  const SinkPlace place{.compute = 1, .computes = 2};
  EXPECT_THAT(find_left_behind(sinks, place), IsEmpty());
  (*other)->leave();
  EXPECT_EQ(find_left_behind(sinks, place).size(), 1u);
  EXPECT_THAT(find_left_behind(sinks, {.compute = 0, .computes = 2}), IsEmpty()) << "node 1's";
}

TEST_F(KilledNode, keeps_the_file_that_its_earlier_life_was_the_last_to_finish) {
  for (const bool replaces : {false, true}) {
    const std::vector<std::string> sinks{"file:" + directory_ / (replaces ? "new" : "out")};
    SinkPlace place{.replaces_files = replaces, .run = "1"};
    wire::write_whole(directory_ / "in", std::vector<std::byte>(100));
    auto pieces = build_timeslices("file:" + directory_ / "in", {.inputs = 1, .per_timeslice = 1});
    auto first = open_sink(sinks[0], place);
    ASSERT_TRUE((*first)->consume(pieces[0].view()));
    ASSERT_TRUE((*first)->finish());
    place.restarted = true;
    auto second = open_sink(sinks[0], place);
    ASSERT_TRUE(second) << second.error().message;
    ASSERT_TRUE((*second)->finish());
    EXPECT_EQ(wire::read_whole(directory_ / (replaces ? "new" : "out")).size(), 100u);
  }
}

}  // namespace
}  // namespace weft
