// SPDX-License-Identifier: Apache-2.0
// The two schedules that need no messages: input nodes send contributions in a fixed order, as soon
// as they have data and credit.
//  - best-effort (paper 1, II; FLESnet before DFS): each round starts at compute node 0.
//  - offset (paper 1, II.A): input node i starts each round at compute node i, so that in each step
//    every input node sends to a different one.
#pragma once

#include <cstdint>
#include <memory>

#include "core/schedule/schedule.hpp"

namespace weft::schedule {

class InOrderSchedule final : public InputSchedule {
 public:
  /// Each round starts at compute node `offset` mod computes.
  explicit InOrderSchedule(std::uint32_t offset) : offset_(offset) {}

  void on_grid(Instant now, const RoundGrid& grid) override;
  Choice choose(Instant now, const SendState& state) override;
  void on_started(Instant now, TimesliceIndex t) override;
  void on_acknowledged(Instant, TimesliceIndex, Duration) override {}
  void on_message(Instant, std::uint32_t, std::span<const std::byte>) override {}
  void write_messages(Instant, MessageBox&) override {}

 private:
  TimesliceIndex at(std::uint64_t step) const;
  void pass_started(TimesliceIndex below);

  std::uint32_t offset_;
  RoundGrid grid_;
  std::uint64_t next_step_ = 0;
};

/// The compute node's part of the schedules that need no messages.
class SilentComputeSchedule final : public ComputeSchedule {
 public:
  void on_grid(Instant, const RoundGrid&, std::uint32_t) override {}
  void on_input(Instant, std::uint32_t, bool) override {}
  void on_contribution(Instant, std::uint32_t, TimesliceIndex, ByteCount) override {}
  void on_given_up(Instant, std::uint32_t, TimesliceIndex) override {}
  void on_message(Instant, std::uint32_t, std::span<const std::byte>) override {}
  void write_messages(Instant, MessageBox&) override {}
};

std::unique_ptr<InputSchedule> make_best_effort_input();
std::unique_ptr<InputSchedule> make_offset_input(std::uint32_t input);

}  // namespace weft::schedule
