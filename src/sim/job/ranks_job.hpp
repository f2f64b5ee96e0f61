// SPDX-License-Identifier: Apache-2.0
// RanksJob: the ranks of a workload, or of a trace, as a job beside others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/job/job.hpp"
#include "sim/run/world.hpp"
#include "sim/workload/ranks.hpp"

namespace weft::sim {

struct RanksJobOptions {
  std::string name;
  RankOptions ranks;  ///< the job arrives at `start`
  /// At this time the job departs, finished or not, and posts nothing more; never: at its end.
  PicoInstant end = PicoInstant::never();
  bool is_endless = false;  ///< the program has no end
};

/// The figures of a job at its end.
struct RanksJobFigures {
  std::string name;
  std::uint32_t ranks = 0;
  std::uint64_t least_iterations = 0;  ///< mark_progress of the slowest rank
  std::uint64_t most_iterations = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  double waited_s = 0;   ///< all ranks added up
  double elapsed_s = 0;  ///< simulated, from its arrival
  bool ended = false;    ///< the program ended, before any departure or interrupt
};

/// Runs in one part: the network must not be divided.
class RanksJob : public Job, private Agent {
 public:
  /// World and program must outlive the job. Rank r runs on host `hosts[r]`.
  RanksJob(World& world, const Program& program, RanksJobOptions options,
           std::vector<std::uint32_t> hosts);
  RanksJob(World& world, Feed& feed, RanksJobOptions options, std::vector<std::uint32_t> hosts);

  Ranks& ranks() { return *ranks_; }
  const RanksJobFigures& figures() const { return figures_; }

  const std::string& name() const override { return options_.name; }
  JobFacts facts() const override;
  std::optional<JobFailure> failure() const override;
  void learn(const JobFacts&) override {}
  Result<void> look_around() override;
  bool over() const override { return departed_ || ranks_->ended(); }
  bool is_endless() const override { return options_.is_endless; }
  void interrupt() override;
  Result<void> conclude(Exchange& exchange) override;
  void retire() override { ranks_->stop(); }
  PicoDuration slice() const override { return PicoDuration::microseconds(10); }

 private:
  void begin(World& world);
  void take_figures(PicoInstant end);
  void on_timer(std::uint16_t detail, std::uint64_t payload) override;

  RanksJobOptions options_;
  Engine& engine_;
  const Network& network_;
  std::unique_ptr<Ranks> ranks_;
  bool departed_ = false;
  RanksJobFigures figures_;
};

}  // namespace weft::sim
