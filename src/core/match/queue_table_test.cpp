// SPDX-License-Identifier: Apache-2.0
#include "core/match/queue_table.hpp"

#include <gtest/gtest.h>

namespace weft::match {
namespace {

Envelope tagged(std::int32_t tag) {
  return {.context = 1, .source = 2, .tag = tag};
}

TEST(queue_table, finds_what_is_left_when_others_go) {
  constexpr std::int32_t tags = 1000;
  QueueTable table;
  for (std::int32_t t = 0; t < tags; ++t) {
    table.find_or_make(tagged(t)).messages.first = static_cast<std::uint32_t>(t);
  }
  for (std::int32_t t = 0; t < tags; t += 3) {
    Queues* queues = table.find(tagged(t));
    ASSERT_NE(queues, nullptr);
    queues->messages = {};
    table.drop_if_empty(*queues);
  }
  // The last ones stay, in case that they are needed again.
  for (std::int32_t t = 0; t < tags; ++t) {
    const Queues* queues = table.find(tagged(t));
    ASSERT_EQ(queues == nullptr, t % 3 == 0 && t != 999) << t;
    if (queues == nullptr) continue;
    EXPECT_EQ(queues->messages.first, t == 999 ? none : static_cast<std::uint32_t>(t));
  }
  EXPECT_EQ(table.size(), 667u);
}

TEST(queue_table, keeps_queues_in_which_something_waits) {
  QueueTable table;
  Queues& queues = table.find_or_make(tagged(1));
  queues.receives.first = 7;
  table.drop_if_empty(queues);
  ASSERT_NE(table.find(tagged(1)), nullptr);
}

}  // namespace
}  // namespace weft::match
