// SPDX-License-Identifier: Apache-2.0
// A model that runs the plans of all members and moves real bytes, in an order drawn from a seed: a
// missing `after` shows as a wrong byte, a bad order of sends and receives as members that wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "core/collective/plan.hpp"

namespace weft::collective {

/// accumulator = left ∘ right of so many bytes, where accumulator is one of the two.
using Fold = std::function<void(const std::byte* left, const std::byte* right, std::byte* result,
                                std::uint64_t bytes)>;

class PlanModel {
 public:
  PlanModel(std::uint64_t seed, Fold fold) : rng_(seed), fold_(std::move(fold)) {}

  /// The next member. If `input` is to lie in the output, it is there already.
  void add(Plan plan, std::vector<std::byte> input, std::vector<std::byte> output);
  /// Runs all to the end. Returns an error, or empty text.
  std::string run();
  const std::vector<std::byte>& output(std::size_t member) const {
    return members_[member].memory[1];
  }
  std::size_t messages() const { return messages_; }

 private:
  using Address = std::pair<std::size_t, StepIndex>;  // member, step
  struct Member {
    Plan plan;
    std::vector<std::byte> memory[3];
    std::vector<bool> completed;
    std::size_t next = 0;
    std::size_t open = 0;  // started and not completed
  };
  struct Pair {
    std::deque<Address> sends;
    std::deque<std::vector<std::byte>> early;  // bytes of the first sends, taken when they started
    std::deque<Address> receives;
  };

  std::byte* at(Member& member, const Piece& piece);
  bool can_start(const Member& member) const;
  void start(std::size_t member);
  void start_communication(std::size_t member, StepIndex index);
  void transfer(const std::pair<std::size_t, std::size_t>& who);
  std::string what_is_left() const;

  Rng rng_;
  Fold fold_;
  std::vector<Member> members_;
  std::map<std::pair<std::size_t, std::size_t>, Pair> pairs_;  // (sender, receiver)
  std::vector<std::pair<std::size_t, std::size_t>> ready_;     // a send and a receive are there
  std::size_t messages_ = 0;
  std::string error_;
};

}  // namespace weft::collective
