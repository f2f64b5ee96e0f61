// SPDX-License-Identifier: Apache-2.0
// GrantCompute and GrantStep together, with links that are full.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/schedule/granting_node_for_test.hpp"

namespace weft::schedule {
namespace {

/// Input nodes whose links take 10 ms for a contribution.
class granting_node_with_full_links : public granting_node {
 protected:
  struct Link {
    std::uint64_t sent = 0;
    Instant free = Instant::never();  // never: nothing is on it
    Instant paused_until{};
    Instant arrived{};
  };
  void start_links(std::uint32_t inputs) {
    links_.resize(inputs);
    start(inputs, 0);
  }
  /// Until that many rounds have arrived. Returns the spread of the last.
  Duration run(std::uint64_t rounds) {
    while (std::ranges::any_of(links_, [&](const Link& link) { return link.sent < rounds; })) {
      now_ = now_ + Duration::microseconds(500);
      for (std::uint32_t i = 0; i < links_.size(); ++i) {
        Link& link = links_[i];
        if (link.free > now_) continue;
        arrive(i, grid_.timeslice(link.sent++, self_).value(), 0);
        link.arrived = now_;
        link.free = Instant::never();
      }
      (void)grants();
      for (std::uint32_t i = 0; i < links_.size(); ++i) {
        Link& link = links_[i];
        if (link.free < Instant::never() || link.sent == told_[i]) continue;
        link.free = std::max(now_, link.paused_until) + Duration::milliseconds(10);
      }
    }
    const auto [first, last] = std::ranges::minmax(links_, {}, &Link::arrived);
    return last.arrived - first.arrived;
  }
  std::vector<Link> links_;
};

TEST_F(granting_node_with_full_links, an_input_that_fell_behind_once_gets_in_step) {
  start_links(2);
  run(60);
  links_[1].paused_until = now_ + Duration::milliseconds(30);
  EXPECT_GE(run(66), Duration::milliseconds(10)) << "its link is as fast, so it stays behind";
  run(200);
  for (std::uint64_t rounds = 201; rounds < 250; ++rounds) {
    EXPECT_LE(run(rounds), Duration::milliseconds(6)) << rounds << " rounds";
  }
}

TEST_F(granting_node_with_full_links, an_input_for_which_others_wait_is_not_slow) {
  start_links(4);
  run(60);
  for (std::uint64_t rounds = 61; rounds < 400; ++rounds) {
    if (rounds % 20 == 0) {
      links_[rounds / 20 % 4].paused_until = now_ + Duration::milliseconds(30);
    }
    run(rounds);
    ASSERT_FALSE(node_->pace().any_slow()) << rounds << " rounds";
  }
}

}  // namespace
}  // namespace weft::schedule
