// SPDX-License-Identifier: Apache-2.0
// Tally: figures of a divided simulation, of which every part has a share, added up.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/partition/exchange.hpp"
#include "sim/telemetry/latency_histogram.hpp"

namespace weft::sim {

class Tally {
 public:
  /// Figures stay where they are until `sum`. The same ones, in the same order, in all parts.
  void add(std::uint64_t& figure) { figures_.push_back(&figure); }
  void add(LatencyHistogram& latencies) {
    for (std::uint64_t& count : latencies.buckets) add(count);
    add(latencies.count);
    add(latencies.sum_ps);
  }

  /// Makes every figure that of all parts together.
  void sum(Exchange& exchange) {
    std::vector<std::uint64_t> values;
    values.reserve(figures_.size());
    for (const std::uint64_t* figure : figures_) values.push_back(*figure);
    exchange.sum(values);
    for (std::size_t i = 0; i < values.size(); ++i) *figures_[i] = values[i];
  }

 private:
  std::vector<std::uint64_t*> figures_;
};

}  // namespace weft::sim
