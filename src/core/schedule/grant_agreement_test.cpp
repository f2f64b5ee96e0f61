// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant_agreement.hpp"

#include <gtest/gtest.h>

namespace weft::schedule {
namespace {

std::vector<std::uint32_t> untold(GrantAgreement& agreement) {
  std::vector<std::uint32_t> all;
  while (const auto compute = agreement.take_untold()) all.push_back(*compute);
  return all;
}

TEST(grant_agreement, is_the_median_of_those_who_know_what_they_want) {
  GrantAgreement agreement(4);
  agreement.restart(4);
  agreement.on_wish(0, 90);
  agreement.on_wish(1, 0);
  agreement.on_wish(2, 70);
  EXPECT_EQ(agreement.agreed(), 0) << "a round of grants has not been heard yet";
  agreement.on_wish(3, 80);
  EXPECT_EQ(agreement.agreed(), 5);
}

TEST(grant_agreement, does_not_go_to_and_fro_between_two_numbers) {
  GrantAgreement agreement(1);
  agreement.restart(1);
  agreement.on_wish(0, 16 * 4 + 7);
  EXPECT_EQ(agreement.agreed(), 4);
  agreement.on_wish(0, 16 * 4 + 9);
  EXPECT_EQ(agreement.agreed(), 4);
  agreement.on_wish(0, 16 * 4 + 10);
  EXPECT_EQ(agreement.agreed(), 5);
  agreement.on_wish(0, 16 * 4 + 7);
  EXPECT_EQ(agreement.agreed(), 5);
}

TEST(grant_agreement, listeners_are_told_once_and_again_when_it_changes) {
  GrantAgreement agreement(3);
  agreement.restart(2);
  agreement.on_listener(1);
  EXPECT_TRUE(untold(agreement).empty()) << "there is nothing to tell";
  for (const Wish wish : {Wish{48}, Wish{64}}) {
    agreement.on_wish(0, wish);
    agreement.on_wish(1, wish);
    EXPECT_EQ(untold(agreement), (std::vector<std::uint32_t>{1}));
    agreement.on_wish(0, wish);
    agreement.on_wish(1, wish);
    EXPECT_TRUE(untold(agreement).empty());
  }
}

TEST(grant_agreement, who_comes_to_listen_later_is_told_too) {
  GrantAgreement agreement(2);
  agreement.restart(2);
  agreement.on_listener(0);
  agreement.on_wish(0, 48);
  agreement.on_wish(1, 48);
  EXPECT_EQ(untold(agreement), (std::vector<std::uint32_t>{0}));
  agreement.on_listener(1);
  agreement.on_listener(1);
  EXPECT_EQ(untold(agreement), (std::vector<std::uint32_t>{1}));
}

TEST(grant_agreement, forgets_everything_when_the_compute_nodes_change) {
  GrantAgreement agreement(2);
  agreement.restart(1);
  agreement.on_listener(0);
  agreement.on_wish(0, 48);
  agreement.restart(2);
  EXPECT_EQ(agreement.agreed(), 0);
  EXPECT_TRUE(untold(agreement).empty());
}

TEST(grant_agreement, ignores_compute_nodes_that_there_are_not) {
  GrantAgreement agreement(2);
  agreement.restart(2);
  agreement.on_wish(2, 48);
  agreement.on_wish(7, 48);
  agreement.on_listener(2);
  EXPECT_EQ(agreement.agreed(), 0);
}

}  // namespace
}  // namespace weft::schedule
