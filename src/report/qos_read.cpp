// SPDX-License-Identifier: Apache-2.0
// qos.json: the record that `weft qos --out` leaves, from which its page can be made again.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "report/files.hpp"
#include "report/qos_page.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

Json network_json(const QosNetwork& network) {
  Json vertices = Json::array(), links = Json::array();
  for (const QosVertex& v : network.vertices) vertices.push_back({v.name, v.height});
  for (const QosLink& l : network.links) links.push_back({l.from, l.to, l.before, l.after});
  return {
      {"levels", network.levels}, {"vertices", std::move(vertices)}, {"links", std::move(links)}};
}

// The functions that read throw nlohmann's exceptions.

QosNetwork network_from(const Json& json) {
  QosNetwork network;
  network.levels = json.at("levels").get<std::vector<std::uint32_t>>();
  for (const Json& v : json.at("vertices")) {
    network.vertices.push_back(
        {.name = v.at(0).get<std::string>(), .height = v.at(1).get<std::uint32_t>()});
  }
  for (const Json& l : json.at("links")) {
    network.links.push_back({.from = l.at(0).get<std::uint32_t>(),
                             .to = l.at(1).get<std::uint32_t>(),
                             .before = l.at(2).get<std::vector<double>>(),
                             .after = l.at(3).get<std::vector<double>>()});
  }
  return network;
}

QosRecord record_from(const Json& json) {
  QosRecord record{.scenario = json.at("scenario").get<std::string>(),
                   .topology = json.at("topology").get<std::string>(),
                   .controller = json.at("controller").get<std::string>(),
                   .command = json.at("command").get<std::string>(),
                   .iterations = json.at("iterations").get<std::uint32_t>(),
                   .placements = json.at("placements").get<std::uint32_t>(),
                   .iterations_to_best = json.at("iterations_to_best").get<std::uint32_t>(),
                   .seed = json.at("seed").get<std::uint64_t>(),
                   .jobs = {},
                   .steps = {},
                   .loads = {},
                   .published = {}};
  for (const Json& j : json.at("jobs")) {
    record.jobs.push_back({.name = j.at("name").get<std::string>(),
                           .kind = j.at("kind").get<std::string>(),
                           .placement = j.at("placement").get<std::uint32_t>(),
                           .default_of_isolation = j.at("default_of_isolation").get<double>(),
                           .controlled_of_isolation = j.at("controlled_of_isolation").get<double>(),
                           .improvement = j.at("improvement").get<double>()});
  }
  for (const Json& s : json.at("steps")) {
    record.steps.push_back(
        {.accepted = s.at(0).get<std::uint32_t>(), .improvement = s.at(1).get<double>()});
  }
  for (const Json& l : json.at("loads")) {
    record.loads.push_back({.links = l.at("links").get<std::string>(),
                            .level = l.at("level").get<std::uint32_t>(),
                            .weight = l.at("weight").get<std::uint32_t>(),
                            .before = l.at("default").get<double>(),
                            .after = l.at("controlled").get<double>()});
  }
  for (const Json& p : json.at("published")) {
    record.published.push_back({.what = p.at(0).get<std::string>(),
                                .paper = p.at(1).get<std::string>(),
                                .ours = p.at(2).get<std::string>()});
  }
  for (const Json& t : json.at("points")) {
    record.trade_offs.push_back({.levels = t.at(0).get<std::string>(),
                                 .of_alone = t.at(1).get<std::vector<double>>(),
                                 .is_best = t.at(2).get<bool>()});
  }
  record.network = network_from(json.at("network"));
  return record;
}

/// Checks everything that the page relies on; empty: nothing is wrong.
std::string problem_of(const QosRecord& record) {
  if (record.jobs.empty()) return "has no jobs";
  const QosNetwork& network = record.network;
  for (const QosLink& l : network.links) {
    if (std::max(l.from, l.to) >= network.vertices.size()) return "has a link to no vertex";
    if (l.before.size() != network.levels.size() || l.after.size() != network.levels.size()) {
      return "has a link without the load of each level";
    }
  }
  for (const QosTradeOff& t : record.trade_offs) {
    if (t.of_alone.size() != record.jobs.size()) return "has a point without each job";
  }
  return {};
}

}  // namespace

std::string to_json(const QosRecord& record) {
  Json jobs = Json::array(), steps = Json::array(), loads = Json::array(),
       published = Json::array(), points = Json::array();
  for (const QosJob& j : record.jobs) {
    jobs.push_back({{"name", j.name},
                    {"kind", j.kind},
                    {"placement", j.placement},
                    {"default_of_isolation", j.default_of_isolation},
                    {"controlled_of_isolation", j.controlled_of_isolation},
                    {"improvement", j.improvement}});
  }
  for (const QosStep& s : record.steps) steps.push_back({s.accepted, s.improvement});
  for (const QosLinkLoad& l : record.loads) {
    loads.push_back({{"links", l.links},
                     {"level", l.level},
                     {"weight", l.weight},
                     {"default", l.before},
                     {"controlled", l.after}});
  }
  for (const QosPublished& p : record.published) published.push_back({p.what, p.paper, p.ours});
  for (const QosTradeOff& t : record.trade_offs) {
    points.push_back({t.levels, t.of_alone, t.is_best});
  }
  const Json all{{"scenario", record.scenario},
                 {"topology", record.topology},
                 {"controller", record.controller},
                 {"command", record.command},
                 {"iterations", record.iterations},
                 {"placements", record.placements},
                 {"seed", record.seed},
                 {"iterations_to_best", record.iterations_to_best},
                 {"jobs", std::move(jobs)},
                 {"steps", std::move(steps)},
                 {"loads", std::move(loads)},
                 {"published", std::move(published)},
                 {"points", std::move(points)},
                 {"network", network_json(record.network)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<QosRecord> qos_from_json(std::string_view text, std::string_view origin) {
  const auto refuse = [&](std::string_view why) {
    return Error{ErrorCode::corrupt,
                 fmt::format("{}: {}; make it again with weft qos --out", origin, why)};
  };
  try {
    QosRecord record = record_from(Json::parse(text));
    if (const std::string problem = problem_of(record); !problem.empty()) return refuse(problem);
    return record;
  } catch (const Json::exception& e) {
    // "[json.exception.out_of_range.403] key 'jobs' not found"
    const std::string_view what = e.what();
    const auto end = what.find("] ");
    return refuse(end == std::string_view::npos ? what : what.substr(end + 2));
  }
}

Result<std::optional<QosRecord>> read_qos(const std::string& dir) {
  const auto path = std::filesystem::path(dir) / "qos.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<QosRecord>();
  const auto text = read_file(path.string());
  if (!text) return text.error();
  auto record = qos_from_json(*text, path.string());
  if (!record) return std::move(record).error();
  return std::optional(std::move(record).value());
}

}  // namespace weft::report
