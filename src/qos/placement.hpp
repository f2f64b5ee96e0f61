// SPDX-License-Identifier: Apache-2.0
// Placement: one random assignment of the jobs' processes to hosts, and the jobs that run there in
// each window.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "jobs/workload_job.hpp"
#include "qos/window.hpp"

namespace weft::qos {

/// A job in a window.
struct Presence {
  std::uint32_t job = 0;      ///< of all jobs
  std::uint32_t variant = 0;  ///< which of its runs was drawn
  PlacedJob placed;
};

/// Does not change: several threads may ask.
class Placement {
 public:
  /// The jobs fit, and outlive it. A job that arrives takes hosts of those that have left.
  Placement(const std::vector<jobs::WorkloadJob>& jobs, std::uint32_t hosts, std::uint32_t variants,
            std::uint64_t seed);

  /// Every process draws the same jobs for a window, in any order of calls.
  std::vector<Presence> in_window(std::uint32_t window) const;
  const std::vector<std::uint32_t>& hosts_of(std::uint32_t job) const { return hosts_[job]; }

 private:
  void assign_hosts(std::uint32_t hosts);

  const std::vector<jobs::WorkloadJob>& jobs_;
  std::uint32_t variants_;
  Rng rng_;
  std::vector<std::vector<std::uint32_t>> hosts_;        // by job
  std::vector<std::unique_ptr<sim::Program>> programs_;  // null: a trace
};

/// The largest number of processes that are there at once.
std::uint64_t most_processes(const std::vector<jobs::WorkloadJob>& jobs);

}  // namespace weft::qos
