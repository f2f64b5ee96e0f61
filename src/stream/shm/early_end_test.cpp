// SPDX-License-Identifier: Apache-2.0
// Runs that end before all consumers have come.
#include <thread>

#include "stream/shm/shm_sink_for_test.hpp"

namespace weft::shm_test {
namespace {

TEST(shm_sink, interrupt_ends_a_wait_for_consumers) {
  ComputeNode node(unique_name() + "?groups=g:all");
  std::thread publisher([&] {
    const auto r = node.publish();
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.error().code, ErrorCode::cancelled);
  });
  node.sink().interrupt();
  publisher.join();
  EXPECT_TRUE(node.sink().finish().ok());
}

TEST(shm_sink, a_run_that_is_ended_early_waits_for_no_consumer) {
  ComputeNode node(unique_name() + "?groups=g:all,h:one");
  std::thread publisher([&] {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE(node.publish().ok());
  });
  node.sink().stop_waiting();
  publisher.join();
  EXPECT_EQ(node.held(), 0u);
  EXPECT_TRUE(node.sink().finish().ok());
  EXPECT_EQ(node.sink().summary().timeslices, 50u);
  EXPECT_EQ(node.sink().summary().dropped, 50u);
}

TEST(shm_sink, a_run_that_is_ended_early_waits_for_no_successor_of_a_consumer) {
  const std::string name = unique_name();
  ComputeNode node(name + "?groups=g:one&held=2&linger=3600s");
  std::thread publisher([&] {
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(node.publish().ok());
    EXPECT_TRUE(node.sink().finish().ok());
  });
  {
    Consumer consumer = attach(name, "g", GroupPolicy::one);
    for (int i = 0; i < 3; ++i) expect_content(take(consumer).view());
  }
  node.sink().stop_waiting();
  publisher.join();
  EXPECT_EQ(node.held(), 0u);
  EXPECT_EQ(node.sink().summary().dropped, 7u);
}

}  // namespace
}  // namespace weft::shm_test
