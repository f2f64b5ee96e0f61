// SPDX-License-Identifier: Apache-2.0
#include "process/simulated/program_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace weft {
namespace {

using Json = nlohmann::ordered_json;

Json spread(const std::vector<PhaseTimes>& of_ranks, PicoDuration PhaseTimes::*kind) {
  std::vector<PicoDuration> times;
  for (const PhaseTimes& of_rank : of_ranks) times.push_back(of_rank.*kind);
  std::sort(times.begin(), times.end());
  return {{"min", times.front().to_seconds()},
          {"median", times[times.size() / 2].to_seconds()},
          {"max", times.back().to_seconds()}};
}

void add_times(const std::vector<PhaseTimes>& of_ranks, Json& json) {
  if (of_ranks.empty()) return;
  json["computing_s"] = spread(of_ranks, &PhaseTimes::computing);
  json["messaging_s"] = spread(of_ranks, &PhaseTimes::messaging);
  json["waiting_s"] = spread(of_ranks, &PhaseTimes::waiting);
  std::uint64_t messages = 0, bytes = 0;
  for (const PhaseTimes& of_rank : of_ranks) {
    messages += of_rank.messages;
    bytes += of_rank.bytes;
  }
  json["messages"] = messages;
  json["bytes"] = bytes;
}

/// Returns the times of all ranks that have been in the phase.
std::vector<PhaseTimes> times_in(const ProgramReport& report, const std::string& phase) {
  std::vector<PhaseTimes> all;
  for (const RankTimes& rank : report.ranks) {
    for (const PhaseTimes& times : rank.phases()) {
      if (times.name == phase) all.push_back(times);
    }
  }
  return all;
}

/// In the order in which the ranks come to them.
std::vector<std::string> names_of_phases(const ProgramReport& report) {
  std::vector<std::string> names;
  for (const RankTimes& rank : report.ranks) {
    for (const PhaseTimes& times : rank.phases()) {
      if (std::find(names.begin(), names.end(), times.name) == names.end()) {
        names.push_back(times.name);
      }
    }
  }
  return names;
}

}  // namespace

std::string to_json(const ProgramReport& report) {
  Json json = {{"processes", report.processes},
               {"seed", report.seed},
               {"simulated_s", report.simulated.to_seconds()},
               {"start_up_s", report.start_up.to_seconds()}};
  std::vector<PhaseTimes> whole;
  for (const RankTimes& rank : report.ranks) whole.push_back(rank.sum());
  add_times(whole, json);
  json["phases"] = Json::array();
  for (const std::string& name : names_of_phases(report)) {
    const std::vector<PhaseTimes> of_ranks = times_in(report, name);
    Json phase = {{"name", name}, {"processes", of_ranks.size()}};
    add_times(of_ranks, phase);
    json["phases"].push_back(std::move(phase));
  }
  json["crashes"] = report.crashes;
  json["restarts"] = report.restarts;
  json["faults"] = Json::array();
  for (const ProgramReport::Fault& fault : report.faults) {
    json["faults"].push_back({{"at_s", fault.at.to_seconds()}, {"what", fault.what}});
  }
  if (!report.jobs.empty()) json["jobs"] = Json::array();
  for (const std::string& job : report.jobs) json["jobs"].push_back(Json::parse(job));
  json["events"] = report.events;
  json["packet_hops"] = report.packet_hops;
  json["trace_hash"] = fmt::format("{:016x}", report.trace_hash);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace weft
