// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "stream/simulated/simulated_job.hpp"
#include "stream/swarm/ledger.hpp"
#include "stream/swarm/swarm.hpp"
#include "stream/swarm/swarm_case.hpp"

namespace weft::stream {
namespace {

/// The end of the stream, as far as the job's reports say.
std::uint64_t end_of(const std::vector<NodeReport>& reports) {
  std::uint64_t end = 0;
  for (const NodeReport& r : reports) end = std::max(end, r.sent_below);
  return end;
}

std::string judge(const SwarmCase& drawn, const std::vector<NodeReport>& reports,
                  const Ledger& ledger, const SimulationTrace& trace) {
  const std::uint64_t end = end_of(reports);
  if (!drawn.expected.ends_by_time && end != drawn.expected.timeslices) {
    return fmt::format("the stream ended at timeslice {} instead of {}", end,
                       drawn.expected.timeslices);
  }
  if (std::string wrong = ledger.judge(drawn.expected, end); !wrong.empty()) return wrong;
  const report::RunRecord record = merge_reports(drawn.options, reports);
  // Only input nodes know the timeslices that a compute node built before it crashed, and some of
  // them are gone.
  const bool known = !drawn.expected.computes_crash || !drawn.expected.may_miss_components;
  if (known && record.timeslices_lost > 0) {
    return fmt::format("the report says that {} of {} timeslices are lost: all were delivered",
                       record.timeslices_lost, end);
  }
  for (const NodeReport& r : reports) {
    if (!r.error.empty()) return fmt::format("node {}: {}", r.node.value(), r.error);
  }
  if (!trace.at_rest) return "something is left in the network, or a buffer is not whole";
  return {};
}

SwarmSeedOutcome run_case(SwarmCase& drawn) {
  SwarmSeedOutcome outcome;
  Ledger ledger;
  drawn.options.make_sink = [&ledger](const SinkPlace& place) -> Result<std::unique_ptr<Sink>> {
    return ledger.open(place);
  };
  SimulationTrace trace;
  const auto reports = run_simulated_job(
      drawn.scenario, drawn.options, {}, stream_node_factory(drawn.options), &trace,
      {.faults = drawn.faults, .patience = drawn.patience, .settle = true});
  outcome.timeslices = ledger.delivered();
  outcome.events = trace.events;
  outcome.trace_hash = trace.trace_hash;
  if (!reports) {
    outcome.failure = fmt::format(
        "{}{}{}{}", reports.error().message, trace.at_rest ? "" : "; the network is not at rest",
        trace.nodes.empty() ? "" : "\n    ", fmt::join(trace.nodes, "\n    "));
  } else {
    outcome.failure = judge(drawn, reports->nodes, ledger, trace);
  }
  return outcome;
}

}  // namespace

std::string describe_swarm_seed(std::uint64_t seed, const sim::Scenario* network) {
  const auto drawn = draw_swarm_case(seed, network);
  return drawn ? to_text(*drawn) : fmt::format("seed {}: {}", seed, drawn.error().message);
}

SwarmSeedOutcome run_swarm_seed(std::uint64_t seed, const sim::Scenario* network, bool twice) {
  auto drawn = draw_swarm_case(seed, network);
  if (!drawn) return {.failure = fmt::format("cannot be drawn: {}", drawn.error().message)};
  SwarmSeedOutcome outcome = run_case(*drawn);
  if (!twice || !outcome.good()) return outcome;
  const SwarmSeedOutcome again = run_case(*drawn);
  if (again.trace_hash != outcome.trace_hash || again.events != outcome.events) {
    outcome.failure = fmt::format(
        "not the same twice: {} events with hash {:016x}, then {} with "
        "{:016x}",
        outcome.events, outcome.trace_hash, again.events, again.trace_hash);
  }
  return outcome;
}

}  // namespace weft::stream
