// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "fabric/shaped/shaped.hpp"

namespace weft {
namespace {

TEST(shape_options, rate_and_latency_are_read) {
  const auto shape = parse_shape("--link", "200Mbit,20us");
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->egress.rate, Bandwidth::bytes_per_second(25'000'000));
  EXPECT_EQ(shape->ingress.rate, Bandwidth::bytes_per_second(25'000'000));
  EXPECT_EQ(shape->egress.latency + shape->ingress.latency, Duration::microseconds(20));
}

TEST(shape_options, latency_may_be_left_out) {
  const auto shape = parse_shape("--link", "10Gbit/s");
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->egress.rate, Bandwidth::bytes_per_second(1'250'000'000));
  EXPECT_EQ(shape->egress.latency, Duration{});
}

TEST(shape_options, zero_is_unlimited) {
  const auto shape = parse_shape("--link", "0,1ms");
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->egress.rate, Bandwidth{});
  EXPECT_EQ(shape->egress.latency, Duration::milliseconds(1));
}

TEST(shape_options, both_links_may_be_passed_at_once) {
  const auto shape = parse_shape("--link", "200Mbit,20us,cut-through");
  ASSERT_TRUE(shape.ok());
  EXPECT_TRUE(shape->cut_through);
  EXPECT_EQ(shape->egress.latency, Duration::microseconds(20));
  EXPECT_FALSE(parse_shape("--link", "200Mbit,20us")->cut_through);
  EXPECT_FALSE(parse_shape("--link", "cut-through").ok());
}

TEST(shape_options, errors_name_the_option_the_value_and_a_form_that_works) {
  const auto shape = parse_shape("--link", "fast");
  ASSERT_FALSE(shape.ok());
  EXPECT_NE(shape.error().message.find("--link 'fast'"), std::string::npos);
  EXPECT_NE(shape.error().message.find("200Mbit,20us, or RATE,LATENCY,cut-through"),
            std::string::npos);
  for (const char* wrong :
       {"200Mbit,", "200Mbit,20", ",20us", "1bit", "200Mbit,11s", "", "1Gbit,,"}) {
    EXPECT_FALSE(parse_shape("--link", wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace weft
