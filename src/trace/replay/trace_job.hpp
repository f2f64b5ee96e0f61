// SPDX-License-Identifier: Apache-2.0
// TraceJob: the ranks of a trace as a job beside others.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/job/ranks_job.hpp"
#include "trace/replay/trace.hpp"
#include "weft/result.hpp"

namespace weft::trace {

/// The feed of a RanksJob: made before it, and gone after it.
struct OwnFeed {
  std::unique_ptr<sim::Feed> feed;
};

class TraceJob final : private OwnFeed, public sim::RanksJob {
 public:
  /// World and trace outlive it; `feed` is of that trace. Rank r runs on host `hosts[r]`.
  TraceJob(sim::World& world, const Trace& trace, std::unique_ptr<sim::Feed> feed,
           sim::RanksJobOptions options, std::vector<std::uint32_t> hosts);

  /// A damaged trace file is a failure, too.
  std::optional<sim::JobFailure> failure() const override;
  sim::JobFacts facts() const override;

 private:
  const Trace& trace_;
};

}  // namespace weft::trace
