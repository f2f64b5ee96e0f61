// SPDX-License-Identifier: Apache-2.0
// NetworkRecord: the loads of simulated networks: DIR/network.json (docs/simulator.md lists its
// members). Member names are the JSON names; times are microseconds, rates bytes per second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/result.hpp"

namespace weft::report {

/// A host or a switch; hosts come first.
struct NetworkVertex {
  bool host = false;
  std::string name;
  std::uint32_t level = 0;              ///< how far from hosts: hosts have 0, their switches 1
  std::optional<std::uint32_t> group;   ///< a pod of a fat tree, a group of a dragonfly
  std::vector<std::uint32_t> position;  ///< in a torus

  bool operator==(const NetworkVertex&) const = default;
};

/// One direction of a cable.
struct NetworkLink {
  std::uint32_t from = 0;  ///< vertex
  std::uint32_t to = 0;    ///< vertex
  std::string kind;        ///< "host", "local", "global"
  double rate_bytes_per_s = 0;

  bool operator==(const NetworkLink&) const = default;
};

struct NetworkTopology {
  std::string name;   ///< as --topology has it
  std::string shape;  ///< "star", "fat-tree", "dragonfly", "torus", "other"
  std::string router;
  std::vector<NetworkVertex> vertices;
  std::vector<NetworkLink> links;

  bool operator==(const NetworkTopology&) const = default;
};

/// The load of a link by one service level.
struct LevelLoad {
  std::uint8_t level = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  double waited_us = 0;  ///< by all packets together before they went onto the link

  bool operator==(const LevelLoad&) const = default;
};

/// The load of a link in all; by the number of the link.
struct LinkLoad {
  double utilisation = 0;  ///< share of the time in which it was busy, 0 to 1
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  double queue_mean_bytes = 0;
  std::uint64_t queue_peak_bytes = 0;
  std::vector<LevelLoad> levels = {};  ///< those that it was used by, in order

  bool operator==(const LinkLoad&) const = default;
};

struct LinkSeries {
  std::uint32_t link = 0;
  std::vector<double> utilisation;  ///< by step
  std::vector<double> queue_bytes;  ///< by step, on average

  bool operator==(const LinkSeries&) const = default;
};

struct LatencyBucket {
  double from_us = 0;
  double to_us = 0;
  std::uint64_t count = 0;

  bool operator==(const LatencyBucket&) const = default;
};

struct LatencyQuantiles {
  double min = 0, p10 = 0, median = 0, p90 = 0, p99 = 0, max = 0, mean = 0;

  bool operator==(const LatencyQuantiles&) const = default;
};

/// Completion of messages of one size, from 2^n bytes to less than twice that.
struct SizeRow {
  std::uint64_t from_bytes = 0;
  std::uint64_t messages = 0;
  LatencyQuantiles latency_us;

  bool operator==(const SizeRow&) const = default;
};

struct FlowRow {
  std::uint32_t source = 0;       ///< host
  std::uint32_t destination = 0;  ///< host
  std::uint64_t bytes = 0;
  double start_us = 0;
  double end_us = 0;

  bool operator==(const FlowRow&) const = default;
};

/// A job's messages, or those of one kind of traffic, from posting to arrival.
struct MessageFigures {
  std::string name;
  std::uint64_t messages = 0;  ///< that arrived
  std::uint64_t bytes = 0;
  LatencyQuantiles latency_us;
  std::vector<LatencyBucket> buckets;  ///< those that are not empty
  std::vector<SizeRow> sizes;
  std::vector<FlowRow> flows;  ///< an even sample

  bool operator==(const MessageFigures&) const = default;
};

/// One run on the network.
struct NetworkRun {
  std::string name;        ///< the schedule, where there are several runs
  std::string trace_hash;  ///< 16 hexadecimal digits
  double end_us = 0;       ///< simulated
  double step_us = 0;
  std::uint32_t steps = 0;  ///< the last one ends at end_us
  std::vector<LinkLoad> links;
  std::vector<LinkSeries> series;  ///< of the most loaded links, by number
  std::vector<MessageFigures> messages;

  bool operator==(const NetworkRun&) const = default;
};

struct NetworkRecord {
  std::string version;
  std::string command;  ///< reruns it when pasted into a shell
  std::uint64_t seed = 0;
  std::vector<std::pair<std::string, std::string>> parameters;
  NetworkTopology topology;
  std::vector<NetworkRun> runs;  ///< at least one

  bool operator==(const NetworkRecord&) const = default;
};

/// A record has series of at most so many links.
inline constexpr std::size_t most_link_series = 256;

/// One JSON object. Figures have six significant digits; those that are not finite become 0.
std::string to_json(const NetworkRecord& record);
/// `origin` names the text in errors, which say which member is missing, of the wrong kind or out
/// of range (code corrupt). Unknown members are ignored.
Result<NetworkRecord> network_from_json(std::string_view text, std::string_view origin);

/// Writes DIR/network.json. DIR is made when missing. The file appears whole or not at all.
Result<void> write_network(const std::string& dir, const NetworkRecord& record);
/// Reads DIR/network.json; nothing if there is no such file.
Result<std::optional<NetworkRecord>> read_network(const std::string& dir);

}  // namespace weft::report
