// SPDX-License-Identifier: Apache-2.0
#include "stream/cluster/cluster_figures.hpp"

#include <fmt/format.h>

namespace weft::stream {

void shift_clock(NodeReport& report, ClockOffset<LeaderClock> leader) {
  const Duration offset = leader.ahead();
  if (report.started != Instant::never()) report.started = report.started + offset;
  if (report.ended != Instant{}) report.ended = report.ended + offset;
  for (auto& interval : report.intervals) interval.start = interval.start + offset;
  for (auto& built : report.built) built.at += offset.ticks();
  for (auto& fill : report.fills) fill.at += offset.ticks();
}

std::string shared_options(const StreamOptions& o) {
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    text += fmt::format("--{} {}\n", name, value);
  };
  add("inputs", o.inputs);
  add("computes", o.computes);
  add("schedule", o.schedule);
  add("fabric", o.fabric);
  add("quorum", o.quorum == Quorum::majority ? "majority" : "none");
  add("link", o.link ? "given" : "not given");
  add("timeslices", o.timeslices);
  add("microslices-per-timeslice", o.microslices_per_timeslice);
  add("overlap", o.overlap_microslices);
  add("descriptors", o.descriptors);
  if (o.schedule == "grant" && o.grant.begins_full) {
    add("grant-max-in-flight", o.grant.max_in_flight);
  }
  if (o.schedule == "dfs") {
    add("timeslices-per-interval", o.dfs.timeslices_per_interval);
    add("engines", o.dfs.engines);
    add("request-distance", o.dfs.request_distance);
  }
  return text;
}

std::optional<std::string> options_differ(std::string_view theirs, std::string_view ours) {
  while (!theirs.empty() || !ours.empty()) {
    const auto their_line = theirs.substr(0, theirs.find('\n'));
    const auto our_line = ours.substr(0, ours.find('\n'));
    if (their_line != our_line) return fmt::format("{} instead of {}", their_line, our_line);
    theirs.remove_prefix(std::min(theirs.size(), their_line.size() + 1));
    ours.remove_prefix(std::min(ours.size(), our_line.size() + 1));
  }
  return std::nullopt;
}

}  // namespace weft::stream
