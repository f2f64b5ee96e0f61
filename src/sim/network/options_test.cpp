// SPDX-License-Identifier: Apache-2.0
#include "sim/network/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::sim {
namespace {

using testing::HasSubstr;

TEST(network_options, every_preset_is_valid) {
  for (const std::string_view name : network_presets()) {
    const auto options = network_preset(name);
    ASSERT_TRUE(options.ok()) << name;
    EXPECT_TRUE(check_network(*options).ok()) << name;
  }
}

// A lane's rate on the wire, four lanes, and the share of them that the coding leaves.
TEST(network_options, infiniband_links_have_the_data_rate_that_their_coding_leaves) {
  struct Generation {
    std::string_view preset;
    double lane_gbit_per_s;
    double coding;
  };
  for (const auto& g :
       {Generation{"ib-qdr", 10, 8.0 / 10}, Generation{"ib-fdr", 14.0625, 64.0 / 66},
        Generation{"ib-edr", 25.78125, 64.0 / 66}, Generation{"ib-hdr", 51.5625, 64.0 / 66}}) {
    const double expected = 4 * g.lane_gbit_per_s * g.coding * 1e9 / 8;
    const auto options = network_preset(g.preset);
    ASSERT_TRUE(options.ok());
    for (const LinkOptions* l :
         {&options->host_link, &options->local_link, &options->global_link}) {
      EXPECT_NEAR(static_cast<double>(l->rate.bytes_per_second()), expected, expected / 10'000)
          << g.preset;
    }
  }
}

TEST(network_options, an_unknown_preset_is_answered_with_those_there_are) {
  const auto options = network_preset("ib-xyz");
  ASSERT_FALSE(options.ok());
  EXPECT_THAT(options.error().message, HasSubstr("ib-xyz"));
  EXPECT_THAT(options.error().message, HasSubstr("ib-hdr"));
}

TEST(network_options, what_cannot_be_is_named) {
  NetworkOptions o;
  o.buffer_bytes = 100;
  EXPECT_THAT(check_network(o).error().message, HasSubstr("buffer is 100"));
  o = {};
  for (const std::uint32_t reserve : {100U, 1U << 17}) {
    o.reserve_bytes = reserve;
    EXPECT_THAT(check_network(o).error().message, HasSubstr("reserve is"));
  }
  o = {};
  o.levels.assign(17, {});
  EXPECT_THAT(check_network(o).error().message, HasSubstr("levels is 17"));
  o = {};
  o.local_link.latency = {};
  EXPECT_THAT(check_network(o).error().message, HasSubstr("latency"));
  o = {};
  o.switch_delay = PicoDuration(-1);
  EXPECT_FALSE(check_network(o).ok());
  o = {};
  o.levels[0].weight = 0;
  EXPECT_FALSE(check_network(o).ok());
}

}  // namespace
}  // namespace weft::sim
