// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/question.hpp"

#include <gtest/gtest.h>

namespace weft::emulate {
namespace {

TEST(sweep_question, has_each_latency_with_each_bandwidth_and_the_fastest_first) {
  SweepQuestion question;
  question.latencies = *parse_latencies("2us,0,+1us");
  question.bandwidths = *parse_bandwidths("5%,100%,12.5%");
  const auto points = question.points();
  ASSERT_EQ(points.size(), 9U);
  EXPECT_EQ(points.front(), (SweepPoint{Duration{}, 1}));
  EXPECT_EQ(points.back(), (SweepPoint{Duration::microseconds(2), 0.05}));
  EXPECT_EQ(to_text(points.front()), "+0, 100 %");
  EXPECT_EQ(to_text(points.back()), "+2 us, 5 %");
}

TEST(sweep_question, refuses_wrong_units_with_a_form_that_works) {
  EXPECT_FALSE(parse_latencies("1"));
  EXPECT_FALSE(parse_latencies("1us,,2us"));
  EXPECT_FALSE(parse_latencies("-1us"));
  EXPECT_NE(parse_latencies("1us,1us").error().message.find("twice"), std::string::npos);
  EXPECT_NE(parse_latencies("=5us").error().message.find("as 5us"), std::string::npos);
  EXPECT_EQ(parse_bandwidths("50").error().message,
            "'50' is no share of the bandwidth: give percent, as 50%");
  EXPECT_FALSE(parse_bandwidths("100MB/s"));
  EXPECT_FALSE(parse_bandwidths("0%"));
  EXPECT_NE(parse_bandwidths("120%").error().message.find("--predict"), std::string::npos);
}

TEST(sweep_question, predicts_for_faster_and_slower_networks) {
  EXPECT_EQ(*parse_prediction("-0.5us,200%"), (sweep::Point{-0.5e-6, 2}));
  EXPECT_EQ(*parse_prediction("+1us,50%"), (sweep::Point{1e-6, 0.5}));
  EXPECT_FALSE(parse_prediction("1us"));
  EXPECT_FALSE(parse_prediction("1us,2"));
}

TEST(sweep_share, divides_points_and_gives_every_task_the_baseline) {
  for (std::size_t point = 1; point < 30; ++point) {
    int tasks = 0;
    for (std::uint32_t task = 0; task < 4; ++task) tasks += SweepShare{task, 4}.has(point) ? 1 : 0;
    EXPECT_EQ(tasks, 1) << point;
  }
  EXPECT_TRUE((SweepShare{3, 4}.has(0)));
  EXPECT_EQ(parse_share("2/4")->task, 2U);
  for (const char* text : {"4/4", "1", "/2", "1/", "-1/2", "1/0", "99999999999/4"}) {
    EXPECT_FALSE(parse_share(text)) << text;
  }
}

TEST(sweep_question, with_words_that_are_not_utf8_is_refused) {
  const SweepQuestion question{
      .metric = {}, .links = {}, .server = {}, .command = {"mpirun", "./pl\xff"}};
  const auto text = to_json_text(question);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(text.error().message.find("not UTF-8"), std::string::npos);
}

TEST(sweep_question, reads_back_what_it_wrote) {
  SweepQuestion question{.latencies = *parse_latencies("0,1500ns"),
                         .bandwidths = *parse_bandwidths("100%,33.3%"),
                         .metric = {"GUPS ([0-9.]+)", *parse_metric_unit("G/s"), "out.txt"},
                         .links = "links.toml",
                         .server = "memcached -l {server}",
                         .command = {"mpirun", "-n", "2", "./a b"}};
  const auto back = question_from_json(*to_json_text(question));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->points(), question.points());
  EXPECT_EQ(difference(*back, question), "");
  EXPECT_EQ(back->metric.file, "out.txt");
  EXPECT_EQ(back->server, question.server);
  question.server.clear();
  EXPECT_EQ(difference(*back, question), "--server");
  question.command.emplace_back("more");
  EXPECT_EQ(difference(*back, question), "the command");
  EXPECT_FALSE(question_from_json("{}"));
  EXPECT_FALSE(question_from_json("nothing"));
}

}  // namespace
}  // namespace weft::emulate
