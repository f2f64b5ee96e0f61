// SPDX-License-Identifier: Apache-2.0
#include "stream/simulated/testbed_twin.hpp"

#include <gtest/gtest.h>

#include "sim/network/options.hpp"
#include "stream/node/stream_node.hpp"
#include "stream/simulated/simulated_job.hpp"

namespace weft::stream {
namespace {

LocalOptions testbed_of(Bandwidth link) {
  LocalOptions local;
  local.testbed = true;
  local.testbed_link = link;
  local.testbed_queue = ByteCount::mib(4);
  return local;
}

TEST(testbed_twin, has_a_host_for_every_node_and_frames_as_large_as_the_testbed_s) {
  StreamOptions options;
  options.inputs = 3;
  options.computes = 2;
  options.seed = 7;
  const auto link = Bandwidth::bits_per_second(100'000'000);
  const sim::Scenario twin = twin_of_testbed(options, testbed_of(link));
  EXPECT_EQ(twin.topology, "star:5");
  EXPECT_EQ(twin.seed, 7u);
  EXPECT_EQ(twin.network.host_link.rate, link);
  // A frame: an MTU of 9,000 bytes, and the Ethernet header that token buckets count.
  EXPECT_EQ(twin.network.mtu + twin.network.packet_overhead, 9014u);
  EXPECT_TRUE(sim::check_network(twin.network).ok());
  EXPECT_TRUE(sim::check_scenario(twin).ok());
}

TEST(testbed_twin, builds_what_flows_and_is_no_faster_than_the_frames_allow) {
  StreamOptions options;
  options.inputs = 2;
  options.computes = 2;
  options.schedule = "best-effort";
  options.timeslices = 200;
  options.sink_in_loop = options.source_in_loop = true;
  const auto link = Bandwidth::bits_per_second(100'000'000);
  LocalOptions local = testbed_of(link);
  const sim::Scenario twin = twin_of_testbed(options, local);
  local.testbed = false;
  const auto job = run_simulated_job(twin, options, local, stream_node_factory(options));
  ASSERT_TRUE(job.ok()) << job.error().message;
  const report::RunRecord record = merge_reports(options, *job);
  EXPECT_EQ(record.timeslices_complete, 200u);
  EXPECT_EQ(record.timeslices_lost, 0u);
  const double most = 2 * static_cast<double>(link.bytes_per_second()) * 8948 / 9014;
  EXPECT_LT(record.goodput_bytes_per_s, most);
  EXPECT_GT(record.goodput_bytes_per_s, 0.9 * most);
}

}  // namespace
}  // namespace weft::stream
