// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/metric.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace weft::emulate {
namespace {

Metric metric(const char* pattern, const char* unit = "s") {
  return {pattern, *parse_metric_unit(unit), {}};
}

TEST(sweep_metric, is_the_group_of_the_last_line_that_matches) {
  EXPECT_DOUBLE_EQ(*find_metric(metric("Time = ([0-9.]+)"), "Time = 1\nother\nTime = 2.5 s\nend"),
                   2.5);
  EXPECT_DOUBLE_EQ(*find_metric(metric("[0-9.]+e-[0-9]+"), "GUPS 1.5e-3\n"), 1.5e-3);
}

TEST(sweep_metric, names_what_the_program_printed_when_nothing_matches) {
  const auto none = find_metric(metric("Tme ([0-9]+)"), "begin\nTime 12\n");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "--metric 'Tme ([0-9]+)': matches none of the 2 lines that the program printed, of "
            "which the last is 'Time 12'");
  EXPECT_EQ(none.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(find_metric(metric("x"), "").error().message.find("printed nothing"),
            std::string::npos);
}

TEST(sweep_metric, refuses_what_is_no_number) {
  EXPECT_NE(find_metric(metric("Time .*"), "Time 3\n").error().message.find("parentheses"),
            std::string::npos);
  EXPECT_FALSE(find_metric(metric("Time ([-0-9.]*)"), "Time -3\n"));
  EXPECT_FALSE(find_metric(metric("Time ([-0-9.]*)"), "Time \n"));
}

TEST(sweep_metric, refuses_a_number_that_overflows_as_a_time) {
  for (const auto& [text, unit] :
       {std::pair{"T=1e-320", "/s"}, {"T=1e308", "G/s"}, {"T=1e-320", "ns"}, {"T=1e300", "s"}}) {
    const auto found = find_metric(metric("T=([-0-9.e]+)", unit), text);
    ASSERT_FALSE(found) << text;
    EXPECT_NE(found.error().message.find("cannot be compared"), std::string::npos);
  }
}

TEST(sweep_metric, reads_long_lines_without_recursing_through_them) {
  const std::string output(10'000'000, 'x');
  EXPECT_FALSE(find_metric(metric("^(a|x)*y"), output + "\n"));
}

TEST(sweep_metric, reads_a_number_behind_thousands_of_characters_whole) {
  // The whole number counts, wherever in its line it begins.
  for (const std::size_t before : {4'090UL, 4'096UL, 100'000UL}) {
    EXPECT_DOUBLE_EQ(
        *find_metric(metric("T=([0-9]+)"), std::string(before - 2, ' ') + "T=123456789\n"),
        123456789);
  }
}

TEST(sweep_metric, searches_in_linear_time_for_patterns_that_explode) {
  // A matcher that backtracks tries each way to divide the line among the stars.
  const std::string line(100'000, 'a');
  for (const char* pattern : {"(a*)*b", "(a|aa)+b", "(.*)(.*)(.*)(.*)[0-9]", "(a?){30}a{30}b"}) {
    EXPECT_FALSE(find_metric(metric(pattern), line + "\n")) << pattern;
  }
}

TEST(sweep_metric, refuses_patterns_beyond_all_measure) {
  const std::string nested = std::string(100'000, '(') + "a" + std::string(100'000, ')');
  for (const std::string& pattern :
       {std::string("((((a{100}){100}){100}){100}){100}"), nested, std::string("(?=a)")}) {
    const auto refused = parse_metric(pattern);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("is no regular expression of RE2"), std::string::npos);
    EXPECT_LT(refused.error().message.size(), 400U);
  }
}

TEST(sweep_metric, finds_numbers_beside_bytes_that_are_not_utf8) {
  EXPECT_DOUBLE_EQ(*find_metric(metric("^.+ ([0-9]+) \xb5s$"), "Zeit f\xfcr 3 \xb5s\n"), 3);
}

TEST(sweep_metric, without_its_group_is_no_number) {
  EXPECT_NE(find_metric(metric("T(=[0-9]+)?"), "T\n").error().message.find("no number"),
            std::string::npos);
}

TEST(sweep_metric, turns_rates_into_seconds_for_each_event) {
  EXPECT_DOUBLE_EQ(metric("x", "G/s").to_seconds(2), 0.5e-9);
  EXPECT_DOUBLE_EQ(metric("x", "G/s").from_seconds(0.5e-9), 2);
  EXPECT_DOUBLE_EQ(metric("x", "us").to_seconds(3), 3e-6);
}

TEST(sweep_metric, refuses_units_and_patterns_that_are_none) {
  EXPECT_NE(parse_metric_unit("minutes").error().message.find("'minutes' is no unit"),
            std::string::npos);
  EXPECT_NE(parse_metric("Time ([0-9").error().message.find("no regular expression"),
            std::string::npos);
  EXPECT_FALSE(parse_metric(""));
  EXPECT_EQ(*parse_metric("time"), "");
}

}  // namespace
}  // namespace weft::emulate
