// SPDX-License-Identifier: Apache-2.0
#include "emulate/sweep/target.hpp"

#include <gtest/gtest.h>

namespace weft::emulate {
namespace {

TEST(sweep_target, reads_what_the_hypervisor_took_from_the_processors) {
  EXPECT_DOUBLE_EQ(
      stolen_share("cpu  100 0 50 800 0 0 0 10 0 0\ncpu0 1", "cpu  160 0 50 810 0 0 0 40 7 7"),
      0.3);
  EXPECT_EQ(stolen_share("", ""), 0);
  EXPECT_EQ(stolen_share("cpu 1 2 3", "cpu 1 2 3"), 0);
}

}  // namespace
}  // namespace weft::emulate
