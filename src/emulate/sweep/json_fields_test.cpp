// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/json_fields.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace weft::emulate {
namespace {

std::string wrong_of_whole(const char* value) {
  JsonFields fields(std::string(R"({"n": )") + value + "}");
  fields.whole("n", 0, 100);
  return fields.wrong();
}

TEST(sweep_json_fields, read_members_of_each_type) {
  JsonFields fields(R"({"n": 7, "x": 0.5, "none": null, "yes": true, "word": "a b",
                        "ns": [1, 2], "xs": [0.5, 1], "words": ["a", ""]})");
  EXPECT_EQ(fields.whole("n", 0, 7), 7);
  EXPECT_EQ(fields.number("x", 0, 1), 0.5);
  EXPECT_EQ(fields.number_or_null("none", 0, 1), std::nullopt);
  EXPECT_EQ(fields.number_or_null("x", 0, 1), 0.5);
  EXPECT_TRUE(fields.flag("yes"));
  EXPECT_EQ(fields.text("word"), "a b");
  EXPECT_EQ(fields.wholes("ns", 1, 2), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(fields.numbers("xs", 0, 1), (std::vector<double>{0.5, 1}));
  EXPECT_EQ(fields.texts("words"), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(fields.wrong(), "");
}

TEST(sweep_json_fields, refuse_numbers_that_no_conversion_keeps) {
  EXPECT_EQ(wrong_of_whole("100"), "");
  for (const char* value : {"101", "-1", "1.5", "1e300", "18446744073709551615", "\"1\"", "null"}) {
    EXPECT_EQ(wrong_of_whole(value), "n: is not a whole number from 0 to 100") << value;
  }
  // A number that no double holds makes the text no JSON.
  EXPECT_EQ(wrong_of_whole("1e999"), "is not whole JSON");
}

TEST(sweep_json_fields, name_the_first_member_that_is_wrong) {
  JsonFields fields(R"({"x": 2, "list": [1, "two"], "nul": "a\u0000b"})");
  fields.number("x", 0, 1);
  EXPECT_TRUE(fields.text("name").empty());
  EXPECT_EQ(fields.wrong(), "x: is not a number from 0 to 1");
  for (const auto& [name, wrong] : {std::pair{"list", "list: is not text"},
                                    {"x", "x: is not a list"},
                                    {"none", "none: is missing"}}) {
    JsonFields again(R"({"x": 2, "list": [1, "two"]})");
    again.texts(name);
    EXPECT_EQ(again.wrong(), wrong);
  }
  JsonFields nul(R"({"nul": "a\u0000b"})");
  nul.text("nul");
  EXPECT_EQ(nul.wrong(), "nul: has a NUL character");
}

TEST(sweep_json_fields, refuse_text_that_is_cut_or_no_object) {
  EXPECT_EQ(JsonFields(R"({"n": 1)").wrong(), "is not whole JSON");
  EXPECT_EQ(JsonFields("[1]").wrong(), "is no JSON object");
  EXPECT_EQ(JsonFields("").wrong(), "is not whole JSON");
}

}  // namespace
}  // namespace weft::emulate
