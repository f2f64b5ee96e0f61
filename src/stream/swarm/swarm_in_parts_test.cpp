// SPDX-License-Identifier: Apache-2.0
// Every case of the swarm does the same in a simulation that is divided.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "sim/partition/thread_exchange.hpp"
#include "stream/simulated/simulated_job.hpp"
#include "stream/swarm/swarm_case.hpp"

namespace weft::stream {
namespace {

std::string run(const SwarmCase& drawn, std::uint32_t parts) {
  std::string said;
  sim::run_in_threads(parts, [&](sim::Exchange& exchange) {
    SimulationTrace trace;
    const auto reports = run_simulated_job(drawn.scenario, drawn.options, {},
                                           stream_node_factory(drawn.options), &trace,
                                           {.faults = drawn.faults,
                                            .patience = drawn.patience,
                                            .settle = true,
                                            .exchange = &exchange});
    if (exchange.rank() != 0) return;
    said = fmt::format("{:016x} {} events {} hops {} ns {}\n", trace.trace_hash, trace.events,
                       trace.packet_hops, trace.simulated.ticks(), trace.at_rest);
    said += reports
                ? report::to_json(merge_reports(drawn.options, *reports), report::RecordForm::full)
                : reports.error().message;
  });
  return said;
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Seeds in portions, so that a test does not last long.
class SwarmInParts : public testing::TestWithParam<std::uint64_t> {};

TEST_P(SwarmInParts, does_the_same_as_the_whole) {
  const std::uint64_t only = setting("WEFT_TEST_SEED", 0);
  const std::uint64_t seeds = setting("WEFT_TEST_SEEDS", 100) / 4;
  const std::uint64_t first = only != 0 ? only : seeds * GetParam() + 1;
  const std::uint64_t last = only != 0 ? only : first + seeds - 1;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    auto drawn = draw_swarm_case(seed, nullptr);
    ASSERT_TRUE(drawn.ok());
    drawn->options.sinks = {"check:"};
    const std::uint32_t parts = 2 + seed % 2;
    const std::string whole = run(*drawn, 1);
    ASSERT_EQ(run(*drawn, parts), whole) << to_text(*drawn) << "\nrerun: WEFT_TEST_SEED=" << seed
                                         << " stream_swarm_test --gtest_filter=*SwarmInParts*0";
  }
}

INSTANTIATE_TEST_SUITE_P(swarm, SwarmInParts, testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace weft::stream
