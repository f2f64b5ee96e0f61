// SPDX-License-Identifier: Apache-2.0
// The work of ranks in tests, with any kind of exchange.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "sim/partition/exchange.hpp"
#include "sim/traffic_run/traffic_run.hpp"

namespace weft::sim {

/// Batches of all lengths around the limit of one message, to all and from all.
inline std::string run_batches(Exchange& exchange) {
  std::string said;
  const std::uint32_t self = exchange.rank(), size = exchange.size();
  for (const std::size_t length : {0, 1, 999, 1000, 1001, 2000, 100'000, 0}) {
    std::vector<Batch> outgoing(size), incoming(size, Batch(3));
    for (std::uint32_t r = 0; r < size; ++r) {
      const std::size_t own = length + (length > 1 ? self : 0);
      for (std::size_t i = 0; i < own; ++i) {
        outgoing[r].push_back(static_cast<std::byte>(i * 31 + self * 7 + r));
      }
    }
    const auto least = exchange.turn(others(exchange), outgoing, incoming,
                                     static_cast<std::int64_t>(length) - self);
    std::vector<std::uint64_t> sums(2 * size);
    for (std::uint32_t r = 0; r < size; ++r) {
      sums[self] += incoming[r].size();
      for (std::size_t i = 0; i < incoming[r].size(); ++i) {
        sums[size + self] = sums[size + self] * 0x9e3779b97f4a7c15 +
                            (i ^ std::to_integer<std::uint64_t>(incoming[r][i]));
      }
    }
    exchange.sum(sums);
    said += fmt::format("{} {}\n", least, fmt::join(sums, " "));
  }
  return said;
}

inline std::string run_three_networks(Exchange& exchange) {
  std::string said;
  for (const char* topology : {"star:8", "fat-tree:32", "dragonfly:72"}) {
    Scenario scenario;
    scenario.topology = topology;
    scenario.duration = Duration::microseconds(20);
    scenario.seed = 3;
    scenario.traffic = {{.load = 0.7}};
    const auto run = run_traffic(scenario, exchange);
    if (!run) return run.error().message;
    said += fmt::format("{} {} {} {} {} {:016x} {} {}\n", topology, run->all.messages,
                        run->all.delivered, run->packet_hops, run->events, run->trace_hash,
                        run->all.goodput_bytes_per_s, run->all.latency_p99_ns);
  }
  return said;
}

/// Runs a rank; returns the text that rank 0 prints.
inline std::string run_rank(std::string_view what, Exchange& exchange) {
  return what == "batches" ? run_batches(exchange) : run_three_networks(exchange);
}

}  // namespace weft::sim
