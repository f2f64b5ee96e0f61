// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "emulate/run.hpp"
#include "emulate/setting.hpp"

namespace weft::emulate {
namespace {

TEST(asked, latency_is_added_or_in_all) {
  EXPECT_EQ(parse_latency("--latency", "+2us")->value, Duration::microseconds(2));
  EXPECT_FALSE(parse_latency("--latency", "+2us")->in_all);
  EXPECT_TRUE(parse_latency("--latency", "=5us")->in_all);
  EXPECT_EQ(parse_latency("--latency", "500ns")->value, Duration::nanoseconds(500));
  EXPECT_EQ(parse_latency("--latency", "0")->value, Duration{});
  EXPECT_EQ(parse_latency("--latency", "0us")->value, Duration{});
  EXPECT_FALSE(parse_latency("--latency", "0.1ns"));
}

TEST(asked, bandwidth_is_a_fraction_or_a_rate) {
  EXPECT_DOUBLE_EQ(*parse_emulated_bandwidth("--bandwidth", "12.5%")->fraction, 0.125);
  EXPECT_EQ(*parse_emulated_bandwidth("--bandwidth", "100MB/s")->rate,
            Bandwidth::bytes_per_second(100'000'000));
}

TEST(asked, wrong_units_are_refused_with_a_form_that_works) {
  for (const char* wrong : {"2", "+2", "=us", "-2us", "2MB", "11s", "", "+", "++2us"}) {
    const auto asked = parse_latency("--latency", wrong);
    ASSERT_FALSE(asked.ok()) << wrong;
    EXPECT_EQ(asked.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(asked.error().message.find("--latency"), std::string::npos);
    EXPECT_NE(asked.error().message.find("+2us"), std::string::npos);
  }
  for (const char* wrong :
       {"0%", "101%", "-5%", "nan%", "%", "5us", "100", "1B/s", "7bit/s", "2000GB/s", ""}) {
    const auto asked = parse_emulated_bandwidth("--bandwidth", wrong);
    ASSERT_FALSE(asked.ok()) << wrong;
    EXPECT_NE(asked.error().message.find("100MB/s"), std::string::npos);
  }
}

TEST(asked, a_part_that_rounds_to_no_limit_is_refused) {
  const Calibration calibration{{"ucx-mpich", {.latency_ns = 200, .bandwidth_bytes_per_s = 1e10}}};
  for (const char* tiny : {"1e-10%", "5e-324%"}) {
    EmulationRequest request;
    request.bandwidth = *parse_emulated_bandwidth("--bandwidth", tiny);
    Knobs knobs;
    const auto setting = set_knobs(request, "ucx-mpich", calibration, knobs);
    ASSERT_FALSE(setting.ok()) << tiny;
    EXPECT_EQ(setting.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(setting.error().message.find("1 kB/s"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::emulate
