// SPDX-License-Identifier: Apache-2.0
// A GOAL trace as actions of simulated ranks: an operation begins as soon as its dependencies are
// done; a rank runs one computation at a time, and ready messages go first.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/workload/program.hpp"
#include "trace/events/pairing.hpp"
#include "trace/goal/goal.hpp"

namespace weft::trace {

/// One thread. The trace outlives it; all its messages are paired (see summary_of).
class GraphFeed final : public sim::Feed {
 public:
  /// Every computation takes `compute_factor` times its length in the trace; at least 0.
  GraphFeed(const GoalTrace& trace, double compute_factor);

  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(ranks_.size()); }
  sim::Action next(std::uint32_t rank) override;
  void on_completed(std::uint32_t rank, std::uint32_t request) override;

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Rank {
    std::vector<std::uint32_t> missing;  // by operation: dependencies not yet met
    std::vector<std::uint32_t> first;    // by operation: its first dependency as `earlier`
    std::deque<std::uint32_t> messages;  // ready
    std::deque<std::uint32_t> calcs;     // ready
    std::uint32_t computes = none;
    std::uint32_t open = 0;
  };
  struct Side {
    std::uint64_t name = 0;
    std::uint32_t operation = 0;
  };

  void make_ready(std::uint32_t rank, std::uint32_t operation);
  void release(std::uint32_t rank, std::uint32_t operation, bool at_start);
  sim::Action begin_message(std::uint32_t rank, std::uint32_t operation, bool& done);

  const GoalTrace& trace_;
  double factor_;
  std::vector<Rank> ranks_;
  Pairing<Side> pairing_;
  std::uint64_t names_ = 0;
};

}  // namespace weft::trace
