// SPDX-License-Identifier: Apache-2.0
// The Distributed Deterministic Engine (paper 1, III.B and III.D): collects the reports of all
// input engines and broadcasts proposals. Replicas on several compute nodes propose the same.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/dfs/clock_synchronizer.hpp"
#include "core/schedule/dfs/dfs.hpp"
#include "core/schedule/dfs/history_manager.hpp"
#include "core/schedule/dfs/interval_grid.hpp"
#include "core/schedule/dfs/messages.hpp"
#include "core/schedule/dfs/proposer.hpp"

namespace weft::schedule::dfs {

/// Puts History Manager, Proposer and Clock Synchronizer together.
class DistributedDeterministicEngine final : public ComputeSchedule {
 public:
  DistributedDeterministicEngine(const DfsOptions& options, std::uint32_t inputs, bool restarted);

  void on_grid(Instant now, const RoundGrid& grid, std::uint32_t self) override;
  void on_input(Instant now, std::uint32_t input, bool up) override;
  void on_contribution(Instant now, std::uint32_t input, TimesliceIndex t,
                       ByteCount bytes) override;
  /// Input nodes report intervals, and skip timeslices that were given up.
  void on_given_up(Instant, std::uint32_t, TimesliceIndex) override {}
  void on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) override;
  void write_messages(Instant now, MessageBox& out) override;

 private:
  struct Peer {
    bool greeted = false;
    TimesliceIndex hello_grid{};
    Instant hello_start{};
    bool owed = false;  // a proposal
  };
  /// The request of an input in its report of an interval.
  struct Request {
    IntervalId reported{};
    IntervalId requested{};
  };

  bool is_engine() const { return has_grid_ && is_engine_; }
  void on_hello(std::uint32_t from, const Hello& hello);
  void on_report(Instant now, std::uint32_t from, const Report& report);
  void use_hello(std::uint32_t input);
  Request& request(std::uint32_t input, IntervalId reported);
  IntervalId requested_of(std::uint32_t input);
  void propose();
  void write_proposal(std::uint32_t input, MessageBox& out);

  const DfsOptions options_;
  HistoryManager history_;
  Proposer proposer_;
  ClockSynchronizer clocks_;

  IntervalGrid grid_;
  bool has_grid_ = false;
  bool is_engine_ = false;
  Instant grid_taken_{};
  bool silent_;  // until the history is full
  Plan plan_;
  std::vector<Peer> peers_;
  std::vector<Request> requests_;  // pending_intervals per input
  std::uint32_t owed_ = 0;         // peers with `owed`
  std::uint32_t owed_first_ = 0;   // none below
};

}  // namespace weft::schedule::dfs
