// SPDX-License-Identifier: Apache-2.0
#include "emulate/policy/padding.hpp"

#include <gtest/gtest.h>

namespace weft::emulate {
namespace {

constexpr PaddingRatio kFourTimes = PaddingRatio{4} << 32U;  // a fifth of the bandwidth

TEST(padding, a_large_message_owes_its_padding_at_once) {
  PaddingDebt debt;
  debt.owe(1'000'000, kFourTimes);
  EXPECT_EQ(debt.due(), 4'000'000U);
  debt.paid(4'000'000);
  EXPECT_EQ(debt.due(), 0U);
}

TEST(padding, small_messages_owe_theirs_together) {
  PaddingDebt debt;
  int messages = 0;
  for (; debt.due() == 0; ++messages) debt.owe(8, kFourTimes);
  EXPECT_EQ(messages, 65'536 / 32);
  EXPECT_EQ(debt.due(), kPaddingThreshold);
}

TEST(padding, parts_of_bytes_add_up) {
  PaddingDebt debt;
  constexpr PaddingRatio kQuarter = PaddingRatio{1} << 30U;  // 80 % of the bandwidth
  for (int i = 0; i < 1'000'000; ++i) debt.owe(1, kQuarter);
  EXPECT_EQ(debt.due(), 250'000U);
}

}  // namespace
}  // namespace weft::emulate
