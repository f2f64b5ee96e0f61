// SPDX-License-Identifier: Apache-2.0
#include "qos/kept_track.hpp"

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

}  // namespace

std::uint32_t checksum(const Configuration& levels) {
  return crc32c(std::as_bytes(std::span(levels.weight_of)),
                crc32c(std::as_bytes(std::span(levels.level_of))));
}

std::string to_text(const std::string& fingerprint, const KeptTrack& track) {
  Json windows = Json::array(), searches = Json::array();
  for (const KeptWindow& w : track.windows) {
    windows.push_back({w.isolated, w.iterations, w.waited, w.levels});
  }
  for (const FoundLevels& s : track.searches) searches.push_back({s.rungs, s.found});
  const std::uint32_t sum = checksum(windows, searches);
  return Json{{"fingerprint", fingerprint},
              {"checksum", sum},
              {"windows", std::move(windows)},
              {"searches", std::move(searches)}}
             .dump() +
         "\n";
}

Result<KeptTrack> kept_track_of(const std::string& text, const std::string& fingerprint) {
  try {
    const Json json = Json::parse(text);
    if (json.at("fingerprint") != fingerprint) {
      return Error{ErrorCode::invalid_argument, "another experiment left it"};
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
