// SPDX-License-Identifier: Apache-2.0
#include "process/job_link.hpp"

#include <gtest/gtest.h>

#include "fabric/loopback/loopback.hpp"
#include "process/launcher_question.hpp"

namespace weft {
namespace {

TEST(job_link, progress_and_levels_are_read_as_they_were_written) {
  const JobProgress progress{.iterations = 7,
                             .waited = Duration::microseconds(30),
                             .elapsed = Duration::milliseconds(200)};
  const auto read = read_job_progress(to_text(progress));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->iterations, 7U);
  EXPECT_EQ(read->waited, progress.waited);
  EXPECT_EQ(read->elapsed, progress.elapsed);
  const ProcessLevels levels = {std::nullopt, 0, 15};
  EXPECT_EQ(read_process_levels(to_text(levels), 3).value(), levels);
}

TEST(job_link, refuses_levels_that_no_fabric_has_and_those_of_another_job) {
  for (const char* text : {"1 2", "1 2 3 4", "1 16 2", "1 x 2", "1 -1 2", ""}) {
    EXPECT_EQ(read_process_levels(text, 3).error().code, ErrorCode::corrupt) << text;
  }
  for (const char* text : {"", "1", "1 2", "1 2 3 4", "1 -2 3", "x 2 3"}) {
    EXPECT_EQ(read_job_progress(text).error().code, ErrorCode::corrupt) << text;
  }
}

TEST(job_link, questions_and_answers_are_read_as_they_were_written) {
  const LauncherQuestion question{
      .kind = LauncherQuestion::Kind::spawn,
      .programs = {{.command = {"./a", "\xff\"\n"}, .processes = 3}, {.command = {"b"}}},
      .parents = {4, 0},
      .name = "n",
      .value = "v"};
  const auto read = read_launcher_question(to_text(question));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->kind, question.kind);
  ASSERT_EQ(read->programs.size(), 2U);
  EXPECT_EQ(read->programs[0].command, question.programs[0].command);
  EXPECT_EQ(read->programs[0].processes, 3U);
  EXPECT_EQ(read->parents, question.parents);
  EXPECT_EQ(read->name + read->value, "nv");
  const auto answer = read_launcher_answer(
      to_text(LauncherAnswer{.refusal = "no", .first = 7, .processes = 2, .value = "v"}));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->refusal + answer->value, "nov");
  EXPECT_EQ(answer->first, 7U);
  EXPECT_EQ(answer->processes, 2U);
  for (const char* text : {"", "{}", "[1]", R"({"kind":9,"programs":[],"parents":[]})",
                           R"({"kind":0,"programs":[{"command":[],"processes":1}]})"}) {
    EXPECT_EQ(read_launcher_question(text).error().code, ErrorCode::corrupt) << text;
    EXPECT_EQ(read_launcher_answer(text).error().code, ErrorCode::corrupt) << text;
  }
}

TEST(job_link, a_description_has_the_place_of_a_world_that_was_started_later) {
  const JobDescription job{
      .self = NodeId(6), .nodes = 2, .first = NodeId(5), .parents = {0, 2}, .appnum = 1, .room = 9};
  const auto read = read_job_description(to_text(job));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->first, job.first);
  EXPECT_EQ(read->parents, job.parents);
  EXPECT_EQ(read->appnum, 1U);
  EXPECT_EQ(read->room, 9U);
  const auto outside =
      read_job_description(to_text({.self = NodeId(4), .nodes = 2, .first = NodeId(5)}));
  EXPECT_EQ(outside.error().code, ErrorCode::corrupt);
}

TEST(job_link, a_process_hears_of_the_levels_that_its_launcher_sets) {
  auto ends = Channel::pair();
  ASSERT_TRUE(ends.ok());
  Channel launcher = std::move(ends->first);
  JobLink link(std::move(ends->second));
  ProcessLevels heard;
  link.on_levels(2, [&](const ProcessLevels& levels) { heard = levels; });
  LoopbackHub hub;
  const auto fabric = hub.open(NodeId(0), Incarnation(1));
  ASSERT_TRUE(fabric.ok());
  launcher.post(launch_message::levels, to_text(ProcessLevels{3, std::nullopt}));
  ASSERT_TRUE(link.take_news(**fabric).ok());
  EXPECT_EQ(heard, (ProcessLevels{3, std::nullopt}));
  launcher.post(launch_message::levels, to_text(ProcessLevels{3}));
  EXPECT_EQ(link.take_news(**fabric).error().code, ErrorCode::corrupt);
}

TEST(job_link, a_launcher_hears_of_each_missed_peer_whichever_is_missed_first) {
  auto ends = Channel::pair();
  ASSERT_TRUE(ends.ok());
  JobLink link(std::move(ends->second));
  const auto heard = [&] {
    std::string all;
    while (const auto message = ends->first.receive()) {
      EXPECT_EQ(message->kind, launch_message::needs);
      all += message->text + " ";
    }
    return all;
  };
  Instant now{};
  for (int i = 0; i < 3; ++i) {
    for (const std::uint32_t peer : {4U, 7U}) link.miss(now, NodeId(peer));
  }
  EXPECT_EQ(heard(), "4 7 ") << "once in a while";
  now = now + Duration::milliseconds(100);
  for (const std::uint32_t peer : {4U, 7U}) link.miss(now, NodeId(peer));
  EXPECT_EQ(heard(), "4 7 ");
}

TEST(job_link, a_launcher_hears_from_where_the_next_life_goes_on) {
  auto ends = Channel::pair();
  ASSERT_TRUE(ends.ok());
  JobLink link(std::move(ends->second));
  link.stored(17);
  const auto heard = ends->first.receive();
  ASSERT_TRUE(heard.has_value());
  EXPECT_EQ(heard->kind, launch_message::stored);
  EXPECT_EQ(heard->text, "17");
}

}  // namespace
}  // namespace weft
