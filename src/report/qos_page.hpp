// SPDX-License-Identifier: Apache-2.0
// The page about an experiment with service levels: paper 5's two charts, its Fig. 16, the levels
// that were found, and its figures beside ours. It carries everything it needs and has no scripts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::report {

/// A job at one placement. Fractions: -0.2 is a fifth less.
struct QosJob {
  std::string name;
  std::string kind;
  std::uint32_t placement = 0;
  double default_of_isolation = 0;
  double controlled_of_isolation = 0;
  double improvement = 0;
};

/// The mean improvement of all jobs while so many configurations had been accepted: its median over
/// placements.
struct QosStep {
  std::uint32_t accepted = 0;
  double improvement = 0;
};

/// What links of one kind carried of one level's bytes, as a share of what they could have.
struct QosLinkLoad {
  std::string links;  ///< "from hosts", "up", "down", "to hosts"
  std::uint32_t level = 0;
  std::uint32_t weight = 1;
  double before = 0;
  double after = 0;
};

/// A figure of the paper, and ours.
struct QosPublished {
  std::string what;
  std::string paper;
  std::string ours;
};

struct QosRecord {
  std::string scenario;
  std::string topology;
  std::string controller;
  std::string command;
  std::uint32_t iterations = 0;
  std::uint32_t placements = 0;
  std::uint32_t iterations_to_best = 0;
  std::uint64_t seed = 0;
  std::vector<QosJob> jobs;
  std::vector<QosStep> steps;
  std::vector<QosLinkLoad> loads;
  std::vector<QosPublished> published;
};

/// The whole page; text of the record is escaped. There is at least one job.
std::string qos_page(const QosRecord& record);

}  // namespace weft::report
