// SPDX-License-Identifier: Apache-2.0
// The page about an experiment with service levels: paper 5's two charts, its Fig. 16, the levels
// that were found, and its figures beside ours. It carries everything it needs and has no scripts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/result.hpp"

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

/// The bytes of one level that links of one kind carried, as a share of their capacity.
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

/// The work of the jobs with some levels, as shares of the work of each alone.
struct QosTradeOff {
  std::string levels;
  std::vector<double> of_alone;  ///< by job, in the record's order
  bool is_best = false;          ///< no other is better for one job and as good for all
};

/// A host or a switch.
struct QosVertex {
  std::string name;
  std::uint32_t height = 0;  ///< cables to the nearest host
};

/// One direction of a cable. Shares of its capacity, by `QosNetwork::levels`.
struct QosLink {
  std::uint32_t from = 0, to = 0;  ///< vertices
  std::vector<double> before = {}, after = {};
};

/// The load of each link in the last window of the first placement.
struct QosNetwork {
  std::vector<std::uint32_t> levels = {};  ///< that were used
  std::vector<QosVertex> vertices = {};    ///< hosts first
  std::vector<QosLink> links = {};         ///< as many directions of cables

  bool empty() const { return links.empty(); }
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
  std::vector<std::string> absent_jobs =
      {};  ///< those that would have arrived after the last window
  std::vector<QosStep> steps;
  std::vector<QosLinkLoad> loads;
  std::vector<QosPublished> published;
  std::vector<QosTradeOff> trade_offs = {};  ///< of live experiments
  QosNetwork network = {};                   ///< of simulated ones
};

/// One JSON object: the contents of qos.json, of which `weft qos --json` prints a part.
std::string to_json(const QosRecord& record);
/// Unknown members are ignored. `origin` names the text in errors, which name the missing or wrong
/// member (code corrupt).
Result<QosRecord> qos_from_json(std::string_view text, std::string_view origin);
/// Reads DIR/qos.json; nothing if there is no such file.
Result<std::optional<QosRecord>> read_qos(const std::string& dir);

/// The topology once for all levels together and once for each, before and after; links are the
/// redder the more they carried. Of large networks without hosts. Elements of HTML.
std::string qos_drawings(const QosNetwork& network);

/// The whole page; text of the record is escaped. There is at least one job.
std::string qos_page(const QosRecord& record);

}  // namespace weft::report
