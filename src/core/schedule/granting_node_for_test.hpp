// SPDX-License-Identifier: Apache-2.0
// For tests: a compute node of the grant schedule, and what it grants.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "core/schedule/grant.hpp"

namespace weft::schedule {

struct Granted {
  std::uint32_t input = 0;
  std::uint64_t timeslice = 0;
  bool operator==(const Granted&) const = default;
};

class granting_node : public ::testing::Test {
 protected:
  void start(std::uint32_t inputs, std::uint32_t self, GrantOptions options = {}) {
    node_ = std::make_unique<GrantCompute>(options, inputs);
    told_.assign(inputs, options.first_rounds);
    self_ = self;
    for (std::uint32_t i = 0; i < inputs; ++i) node_->on_input(now_, i, true);
    node_->on_grid(now_, grid_, self);
  }
  // The new grants, contribution by contribution; by input.
  std::vector<Granted> grants() {
    MessageBox box(64);
    node_->write_messages(now_, box);
    std::vector<Granted> list;
    for (const Message& m : box.view()) {
      std::uint64_t round = 0;
      std::memcpy(&round, m.bytes.data() + 1, sizeof round);
      std::memcpy(&wish_, m.bytes.data() + 9, sizeof wish_);
      EXPECT_GT(round, told_[m.to]) << "a grant that says nothing new";
      for (; told_[m.to] < round; ++told_[m.to]) {
        list.push_back({m.to, grid_.timeslice(told_[m.to], self_).value()});
      }
      if (m.bytes[0] == std::byte{1}) tellers_.push_back(m.to);
    }
    messages_ = box.size();
    return list;
  }
  void arrive(std::uint32_t input, std::uint64_t timeslice, std::int64_t after_us = 10) {
    now_ = now_ + Duration::microseconds(after_us);
    node_->on_contribution(now_, input, TimesliceIndex(timeslice), ByteCount(100'000));
  }
  // The round that needs no grant.
  void first_round(std::uint32_t inputs) {
    for (std::uint32_t i = 0; i < inputs; ++i) arrive(i, 100 + self_);
  }
  // Rounds that all inputs answer in order, so that the node knows the usual times.
  void usual_rounds(std::uint32_t inputs, std::uint64_t& t) {
    for (int round = 0; round < 6; ++round, t += 4) {
      for (std::uint32_t i = 0; i < inputs; ++i) {
        arrive(i, t);
        (void)grants();
      }
    }
  }
  void hear(std::uint32_t from, std::uint8_t kind, std::uint64_t round, std::uint32_t grants) {
    // kind, round, number of grants
    std::byte bytes[1 + 8 + 4];
    bytes[0] = std::byte{kind};
    std::memcpy(bytes + 1, &round, 8);
    std::memcpy(bytes + 9, &grants, 4);
    node_->on_message(now_, from, bytes);
  }

  const RoundGrid grid_{.first = TimesliceIndex(100), .computes = 4};
  std::unique_ptr<GrantCompute> node_;
  Instant now_{1000};
  std::uint32_t self_ = 0;
  std::vector<std::uint64_t> told_;     // rounds, by input
  std::size_t messages_ = 0;            // in which the last grants came
  std::vector<std::uint32_t> tellers_;  // that were asked for the agreed number
  std::uint32_t wish_ = 0;              // in the last grant
};

}  // namespace weft::schedule
