// SPDX-License-Identifier: Apache-2.0
#include "base/number_text.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(number_text, reads_whole_texts_only) {
  EXPECT_EQ(parse_number<std::uint32_t>("4294967295"), 4'294'967'295U);
  EXPECT_EQ(parse_number<std::int64_t>("-7"), -7);
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  for (const char* text : {"", " 1", "1 ", "1x", "+1", "-1", "1.5", "0x1", "4294967296"}) {
    EXPECT_EQ(parse_number<std::uint32_t>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_number<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(parse_number<double>("1e"), std::nullopt);
}

TEST(number_text, a_variable_that_is_not_set_is_no_number) {
  const char* const name = "WEFT_NUMBER_TEXT_TEST";
  ::unsetenv(name);
  EXPECT_EQ(environment_number(name), std::nullopt);
  ::setenv(name, "12", 1);
  EXPECT_EQ(environment_number(name), 12U);
  ::setenv(name, "twelve", 1);
  EXPECT_EQ(environment_number(name), std::nullopt);
  ::unsetenv(name);
}

}  // namespace
}  // namespace weft
