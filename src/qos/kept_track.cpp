// SPDX-License-Identifier: Apache-2.0
#include "qos/kept_track.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/crc32c.hpp"

namespace weft::qos {
namespace {

using Json = nlohmann::json;

std::uint32_t checksum(const Json& windows, const Json& searches) {
  const std::string text = windows.dump() + searches.dump();
  return crc32c(std::as_bytes(std::span(text)));
}

std::string_view name_of(std::string_view setting) {
  return setting.substr(0, setting.find('='));
}

/// Returns the first setting in which two experiments differ.
std::string difference(const TrackIdentity& there, const TrackIdentity& here) {
  const auto [t, h] = std::ranges::mismatch(there, here);
  const auto other_value = [&](const std::string& setting, const TrackIdentity& among) {
    return std::ranges::find(among, name_of(setting), name_of);
  };
  if (t != there.end()) {
    const auto same_name = other_value(*t, here);
    if (same_name == here.end()) return fmt::format("with {}", *t);
    if (*same_name != *t) return fmt::format("with {} in place of {}", *t, *same_name);
  }
  return fmt::format("without {}", *h);
}

}  // namespace

std::uint32_t checksum(const Configuration& levels) {
  return crc32c(std::as_bytes(std::span(levels.weight_of)),
                crc32c(std::as_bytes(std::span(levels.level_of))));
}

std::string to_text(const TrackIdentity& identity, const KeptTrack& track) {
  Json windows = Json::array(), searches = Json::array();
  for (const KeptWindow& w : track.windows) {
    windows.push_back({w.isolated, w.iterations, w.waited, w.levels});
  }
  for (const FoundLevels& s : track.searches) searches.push_back({s.rungs, s.found});
  const std::uint32_t sum = checksum(windows, searches);
  return Json{{"experiment", identity},
              {"checksum", sum},
              {"windows", std::move(windows)},
              {"searches", std::move(searches)}}
             .dump() +
         "\n";
}

Result<KeptTrack> kept_track_of(const std::string& text, const TrackIdentity& identity) {
  try {
    const Json json = Json::parse(text);
    if (!json.contains("experiment") && json.contains("windows")) {
      return Error{ErrorCode::invalid_argument, "another version of weft left it"};
    }
    const auto left_by = json.at("experiment").get<TrackIdentity>();
    if (left_by.empty() || left_by.front() != identity.front()) {
      return Error{ErrorCode::invalid_argument, "another version of weft left it"};
    }
    if (left_by != identity) {
      return Error{ErrorCode::invalid_argument,
                   fmt::format("another experiment left it, {}", difference(left_by, identity))};
    }
    const Json &windows = json.at("windows"), &searches = json.at("searches");
    if (json.at("checksum") != checksum(windows, searches)) {
      return Error{ErrorCode::corrupt, "it is damaged: its windows do not have its checksum"};
    }
    KeptTrack track;
    for (const Json& w : windows) {
      track.windows.push_back({.isolated = w.at(0).get<decltype(KeptWindow::isolated)>(),
                               .iterations = w.at(1).get<decltype(KeptWindow::iterations)>(),
                               .waited = w.at(2).get<decltype(KeptWindow::waited)>(),
                               .levels = w.at(3).get<decltype(KeptWindow::levels)>()});
    }
    for (const Json& s : searches) {
      track.searches.push_back(
          {.rungs = s.at(0).get<Rungs>(), .found = s.at(1).get<std::uint32_t>()});
    }
    return track;
  } catch (const Json::exception&) {
    return Error{ErrorCode::corrupt, "it is damaged: it holds no windows of an experiment"};
  }
}

}  // namespace weft::qos
