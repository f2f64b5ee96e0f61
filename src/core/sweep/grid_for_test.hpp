// SPDX-License-Identifier: Apache-2.0
// Sweeps of synthetic programs.
#pragma once

#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "core/sweep/model.hpp"

namespace weft::sweep {

inline constexpr double us = 1e-6;

/// All pairs of these latencies and bandwidths, with the times of a program.
template <class TimeOf>
std::vector<Observation> grid(const std::vector<double>& latencies_s,
                              const std::vector<double>& bandwidths, TimeOf time_of) {
  std::vector<Observation> observations;
  for (const double latency_s : latencies_s) {
    for (const double bandwidth : bandwidths) {
      observations.push_back({{latency_s, bandwidth}, time_of(latency_s, 1 / bandwidth)});
    }
  }
  return observations;
}

inline const std::vector<double> usual_latencies{0, 1 * us, 2 * us, 5 * us, 10 * us};
inline const std::vector<double> usual_bandwidths{1, 0.5, 0.2, 0.1, 0.05};

/// As medians of few runs are off: a normal error, of which a share is the standard deviation.
inline std::vector<Observation> with_noise(std::vector<Observation> observations, double share,
                                           std::uint64_t seed) {
  Rng rng(seed);
  for (Observation& o : observations) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += rng.uniform();
    o.time_s *= 1 + share * sum;
  }
  return observations;
}

}  // namespace weft::sweep
