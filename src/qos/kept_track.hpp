// SPDX-License-Identifier: Apache-2.0
// KeptTrack: what the directory of an experiment keeps of one placement in one arm, so that the
// same command continues from there. The file is JSON with a checksum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/qos/controller.hpp"
#include "core/qos/level_search.hpp"
#include "weft/result.hpp"

namespace weft::qos {

/// The record of a window, by jobs that are in it.
struct KeptWindow {
  std::vector<std::uint64_t> isolated;                 ///< default track: work of each job alone
  std::vector<std::vector<std::uint64_t>> iterations;  ///< by process; default: the least only
  std::vector<std::vector<std::uint32_t>> waited;      ///< in 1/10,000 of the window; controlled
  std::uint32_t levels = 0;                            ///< checksum of the levels; controlled
};

struct KeptTrack {
  std::vector<KeptWindow> windows;
  std::vector<FoundLevels> searches;  ///< by the controller, one after the other
};

std::uint32_t checksum(const Configuration& levels);

/// The settings that decide a track's windows, each as "NAME=VALUE"; the first one is the version
/// of the file. Not empty.
using TrackIdentity = std::vector<std::string>;

std::string to_text(const TrackIdentity& identity, const KeptTrack& track);
/// Errors: no such text or a damaged one (corrupt), or that of another experiment
/// (invalid_argument); the message names the first difference.
Result<KeptTrack> kept_track_of(const std::string& text, const TrackIdentity& identity);

}  // namespace weft::qos
