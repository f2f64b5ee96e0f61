// SPDX-License-Identifier: Apache-2.0
// qos.json: the record that `weft qos --out` leaves, from which its page can be made again.
#include <algorithm>
#include <filesystem>

#include "base/json_members.hpp"
#include "base/make_error.hpp"
#include "report/files.hpp"
#include "report/qos_page.hpp"

namespace weft::report {
namespace {

/// The members of each object in their order in the JSON. `v` is a JsonWriter or a JsonReader.
namespace members {

constexpr auto job = [](auto&& v, auto& j) {
  v.member("name", j.name);
  v.member("kind", j.kind);
  v.member("placement", j.placement);
  v.member("default_of_isolation", j.default_of_isolation);
  v.member("controlled_of_isolation", j.controlled_of_isolation);
  v.member("improvement", j.improvement);
};

constexpr auto load = [](auto&& v, auto& l) {
  v.member("links", l.links);
  v.member("level", l.level);
  v.member("weight", l.weight);
  v.member("default", l.before);
  v.member("controlled", l.after);
};

constexpr auto step = [](auto&& v, auto& s) { v.elements(s.accepted, s.improvement); };
constexpr auto published = [](auto&& v, auto& p) { v.elements(p.what, p.paper, p.ours); };
constexpr auto trade_off = [](auto&& v, auto& t) { v.elements(t.levels, t.of_alone, t.is_best); };
constexpr auto vertex = [](auto&& v, auto& vertex) { v.elements(vertex.name, vertex.height); };
constexpr auto link = [](auto&& v, auto& l) { v.elements(l.from, l.to, l.before, l.after); };

constexpr auto network = [](auto&& v, auto& n) {
  v.member("levels", n.levels);
  v.rows("vertices", n.vertices, vertex);
  v.rows("links", n.links, link);
};

constexpr auto record = [](auto&& v, auto& r) {
  v.member("scenario", r.scenario);
  v.member("topology", r.topology);
  v.member("controller", r.controller);
  v.member("command", r.command);
  v.member("iterations", r.iterations);
  v.member("placements", r.placements);
  v.member("seed", r.seed);
  v.member("iterations_to_best", r.iterations_to_best);
  v.rows("jobs", r.jobs, job);
  v.member("absent_jobs", r.absent_jobs);
  v.rows("steps", r.steps, step);
  v.rows("loads", r.loads, load);
  v.rows("published", r.published, published);
  v.rows("points", r.trade_offs, trade_off);
  v.part("network", r.network, network);
};

}  // namespace members

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
  const auto json = JsonWriter::of(record, members::record);
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<QosRecord> qos_from_json(std::string_view text, std::string_view origin) {
  const auto refuse = [&](std::string_view why) {
    return corrupt("{}: {}; make it again with weft qos --out", origin, why);
  };
  std::string at;
  try {
    const auto json = JsonReader::Json::parse(text);
    QosRecord record;
    members::record(JsonReader(json, &at), record);
    if (const std::string problem = problem_of(record); !problem.empty()) return refuse(problem);
    return record;
  } catch (const nlohmann::json::type_error&) {
    return refuse(fmt::format("\"{}\" is of a wrong type", at));
  } catch (const nlohmann::json::exception& e) {
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
