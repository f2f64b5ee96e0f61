// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/question.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST(sweep_question, refuses_latencies_and_shares_that_would_round_to_nothing) {
  for (const char* text : {"0.4ns", "1us,0.0001us", "1e-400s"}) {
    const auto refused = parse_latencies(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().message.find("is below a nanosecond: give 0, or 1ns and more"),
              std::string::npos)
        << text;
  }
  EXPECT_FALSE(parse_prediction("-0.4ns,100%"));
  EXPECT_EQ(parse_latencies("0.0us,0e5ns").error().message,
            "'0.0us,0e5ns' names a latency twice; leave one out");
  EXPECT_EQ(parse_latencies("0.0us,1ns")->size(), 2U);
  EXPECT_FALSE(parse_bandwidths("1e-323%"));
  EXPECT_FALSE(parse_bandwidths("0.00000001%"));
  EXPECT_FALSE(parse_prediction("1us,1e300%"));
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

TEST(sweep_share, of_an_array_is_the_place_of_its_task) {
  // --array=5-8, and --array=0-20:10
  const auto third = share_of({.id = 7, .least = 5, .most = 8, .step = 1, .count = 4});
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(third->task, 2U);
  EXPECT_EQ(third->of, 4U);
  EXPECT_EQ(share_of({.id = 20, .least = 0, .most = 20, .step = 10, .count = 3})->task, 2U);
}

TEST(sweep_share, of_an_array_with_gaps_is_refused) {
  for (const std::uint32_t id : {1U, 3U, 7U}) {  // --array=1,3,7
    const auto none = share_of({.id = id, .least = 1, .most = 7, .step = 1, .count = 3});
    ASSERT_FALSE(none) << id;
    EXPECT_NE(none.error().message.find("have gaps"), std::string::npos);
    EXPECT_NE(none.error().message.find("use an array as 0-2"), std::string::npos);
  }
  EXPECT_FALSE(share_of({.id = 9, .least = 5, .most = 8, .step = 1, .count = 4}));
  EXPECT_FALSE(share_of({.id = 1, .least = 5, .most = 8, .step = 1, .count = 4}));
  EXPECT_FALSE(share_of({.id = 5, .least = 0, .most = 20, .step = 10, .count = 3}));
  constexpr std::uint32_t kMost = 0xffff'ffff;
  EXPECT_FALSE(share_of({.id = kMost, .least = kMost, .most = 0, .step = kMost, .count = kMost}));
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
  question.use_ucx = true;
  EXPECT_EQ(difference(*back, question), "--ucx");
  EXPECT_TRUE(question_from_json(*to_json_text(question))->use_ucx);
  question.use_ucx = false;
  question.server.clear();
  EXPECT_EQ(difference(*back, question), "--server");
  question.command.emplace_back("more");
  EXPECT_EQ(difference(*back, question), "the command");
  EXPECT_FALSE(question_from_json("{}"));
  EXPECT_FALSE(question_from_json("nothing"));
}

/// The error that reading a question gives where `text` stands in place of `field`'s value.
std::string wrong_with(const char* field, const std::string& text) {
  nlohmann::json json = nlohmann::json::parse(
      *to_json_text({.metric = {}, .links = {}, .server = {}, .command = {"mpirun", "./program"}}));
  json[field] = nlohmann::json::parse(text);
  const auto question = question_from_json(json.dump());
  if (question) return {};
  EXPECT_EQ(question.error().code, ErrorCode::corrupt);
  return question.error().message;
}

TEST(sweep_question, of_a_hostile_file_names_the_field_that_is_wrong) {
  EXPECT_EQ(wrong_with("latencies_ns", "[10, 0]"), "");
  for (const char* text : {"[-1]", "[1.5]", "[1e300]", "[20000000000]", "[18446744073709551615]",
                           "5", "[null]", "[1, 1]", "[]"}) {
    EXPECT_EQ(wrong_with("latencies_ns", text).find("latencies_ns"), 0U) << text;
  }
  for (const char* text : {"[0]", "[-0.5]", "[1.5]", "[1e-300]", "[\"1\"]", "[0.5, 0.5]"}) {
    EXPECT_EQ(wrong_with("bandwidths", text).find("bandwidths"), 0U) << text;
  }
  for (const char* text : {"[]", "[\"\"]", "[1]", "\"mpirun\"", R"(["a\u0000b"])"}) {
    EXPECT_EQ(wrong_with("command", text).find("command"), 0U) << text;
  }
  EXPECT_EQ(wrong_with("metric", "\"(\"").find("metric"), 0U);
  EXPECT_EQ(wrong_with("unit", "\"h\"").find("unit"), 0U);
  EXPECT_EQ(wrong_with("weft_sweep", "1"), "another version of weft wrote it");
  EXPECT_EQ(wrong_with("weft_sweep", "2.5").find("weft_sweep"), 0U);
  std::string many = "[0";
  for (int ns = 1; ns <= 10'000; ++ns) many += "," + std::to_string(ns);
  EXPECT_NE(wrong_with("latencies_ns", many + "]").find("more than 10000 points"),
            std::string::npos);
}

TEST(sweep_question, of_a_truncated_file_is_refused_at_every_length) {
  const std::string whole =
      *to_json_text({.metric = {}, .links = {}, .server = {}, .command = {"mpirun", "./program"}});
  for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
    EXPECT_FALSE(question_from_json(whole.substr(0, length))) << length;
  }
  EXPECT_TRUE(question_from_json(whole));
}

TEST(sweep_question, with_more_points_than_a_directory_keeps_is_not_written) {
  SweepQuestion question{.metric = {}, .links = {}, .server = {}, .command = {"mpirun"}};
  for (int ns = 1; ns <= 10'000; ++ns) question.latencies.push_back(Duration::nanoseconds(ns));
  EXPECT_FALSE(to_json_text(question));
}

TEST(sweep_question, takes_the_points_of_another_one) {
  SweepQuestion one;
  one.latencies = *parse_latencies("0,2us");
  SweepQuestion other;
  other.latencies = *parse_latencies("0,1us");
  other.bandwidths = *parse_bandwidths("50%,100%");
  const SweepQuestion both = with_points_of(one, other);
  EXPECT_EQ(both.latencies, *parse_latencies("0,1us,2us"));
  EXPECT_EQ(both.bandwidths, *parse_bandwidths("100%,50%"));
}

}  // namespace
}  // namespace weft::emulate
