// SPDX-License-Identifier: Apache-2.0
#include "trace/replay/trace_job.hpp"

#include <utility>

namespace weft::trace {

TraceJob::TraceJob(sim::World& world, const Trace& trace, std::unique_ptr<sim::Feed> feed,
                   sim::RanksJobOptions options, std::vector<std::uint32_t> hosts)
    : OwnFeed{std::move(feed)},
      RanksJob(world, *OwnFeed::feed, std::move(options), std::move(hosts)),
      trace_(trace) {}

sim::JobFacts TraceJob::facts() const {
  sim::JobFacts facts = RanksJob::facts();
  if (!trace_.state_of(*feed)) facts.failed = 1;
  return facts;
}

std::optional<sim::JobFailure> TraceJob::failure() const {
  if (const auto good = trace_.state_of(*feed); !good) {
    return sim::JobFailure{.order = 0, .error = good.error()};
  }
  return RanksJob::failure();
}

}  // namespace weft::trace
