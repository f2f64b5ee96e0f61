// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(units, sizes_as_people_write_them) {
  EXPECT_EQ(parse_byte_count("64KiB")->value(), 65536u);
  EXPECT_EQ(parse_byte_count("1.5 MiB")->value(), 1572864u);
  EXPECT_EQ(parse_byte_count("100kB")->value(), 100000u);
  EXPECT_EQ(parse_byte_count("4096")->value(), 4096u);
}

/// A sum of two and of the machine's clock would have no place in 63 bits.
TEST(units, durations_of_more_than_ten_years_are_refused) {
  EXPECT_TRUE(parse_duration("315000000s"));
  for (const char* text :
       {"316000000s", "4700000000s", "9e18ns", "99999999999999999999s", "1e999min"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_NE(duration.error().message.find("longer than ten years"), std::string::npos);
  }
}

TEST(units, durations_need_a_unit) {
  EXPECT_EQ(parse_duration("20us")->ticks(), 20'000);
  EXPECT_EQ(parse_duration("1.5ms")->ticks(), 1'500'000);
  EXPECT_EQ(*parse_duration("0.5h"), *parse_duration("30min"));
  EXPECT_EQ(parse_duration("0")->ticks(), 0);
  EXPECT_FALSE(parse_duration("20"));
}

TEST(units, rates_in_bits_and_bytes) {
  EXPECT_EQ(parse_bandwidth("200Mbit")->bytes_per_second(), 25'000'000u);
  EXPECT_EQ(parse_bandwidth("10Gbit/s")->bits_per_second(), 10'000'000'000u);
  EXPECT_EQ(parse_bandwidth("1.2GB/s")->bytes_per_second(), 1'200'000'000u);
}

TEST(units, errors_name_the_value_and_a_form_that_works) {
  const auto bad = parse_bandwidth("fast");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "'fast' is not a bandwidth: write it like 200Mbit, 10Gbit or 1.2GB/s");
  EXPECT_FALSE(parse_byte_count("-1KiB"));
  EXPECT_FALSE(parse_duration("nan s"));
}

TEST(units, amounts_that_are_too_large_are_told_the_limit_and_not_that_they_are_none) {
  for (const char* text : {"1e30", "99999999999999999999", "9000000TiB", "1e999", "1e999GiB"}) {
    const auto size = parse_byte_count(text);
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().message,
              std::string("'") + text + "' is too large: write at most 8000000TiB");
  }
  EXPECT_TRUE(parse_byte_count("8000000TiB"));
  const auto rate = parse_bandwidth("99999999999999999999Gbit");
  ASSERT_FALSE(rate);
  EXPECT_EQ(rate.error().message,
            "'99999999999999999999Gbit' is too large: write at most 8000000000GB/s");
  EXPECT_TRUE(parse_bandwidth("8000000000GB/s"));
  EXPECT_FALSE(parse_bandwidth("1e-400GB/s"));
  EXPECT_EQ(parse_bandwidth("8bit/s")->bytes_per_second(), 1u);
  EXPECT_EQ(parse_bandwidth("0")->bytes_per_second(), 0u);
  EXPECT_FALSE(parse_byte_count("-1e999"));
  EXPECT_EQ(parse_duration("1e-999s")->ticks(), 0);
}

TEST(units, the_least_rate_that_an_error_names_is_taken) {
  const auto error_of = [](Bandwidth least, const char* text) {
    const auto rate = parse_bandwidth_from(least, text);
    return rate ? "" : rate.error().message;
  };
  const auto slow = Bandwidth::bytes_per_second(1'000);
  EXPECT_EQ(parse_bandwidth("7bit/s").error().message,
            "'7bit/s' is too slow: write at least 8bit/s");
  for (const char* text : {"1bit", "8bit/s", "999B/s"}) {
    EXPECT_EQ(error_of(slow, text),
              std::string("'") + text + "' is too slow: write at least 8kbit/s");
  }
  EXPECT_EQ(error_of(slow, "8kbit/s"), "");
  EXPECT_EQ(error_of(slow, "0"), "");
}

TEST(units, text_keeps_four_digits) {
  EXPECT_EQ(to_text(ByteCount(65536)), "64 KiB");
  EXPECT_EQ(to_text(ByteCount(UINT64_MAX)), "16 EiB");
  EXPECT_EQ(to_text(Duration(38'712'345)), "38.71 ms");
  EXPECT_EQ(to_text(Bandwidth::bytes_per_second(11'900'000)), "11.9 MB/s");
}

}  // namespace
}  // namespace weft
