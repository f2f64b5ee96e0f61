// SPDX-License-Identifier: Apache-2.0
// The places of the processes of `weft run`: here, those of a job's file, or a list of hosts.
#pragma once

#include <string>

#include "launch/launch.hpp"
#include "weft/result.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

/// As on the command line.
struct PlaceOptions {
  std::string config;
  std::string hosts;
  std::string ssh = "ssh -o BatchMode=yes";
};

/// `places` and `launch` outlive the command.
void add_place_options(CLI::App& command, PlaceOptions& places, LaunchOptions& launch);
/// Completes `launch` by the files that are named; the command line takes precedence. Errors name
/// the file and the line, or the option.
Result<void> find_places(const CLI::App& command, const PlaceOptions& places,
                         LaunchOptions& launch);

/// Refuses times of the complete `launch` that make no sense together. Errors name the option, or
/// the file and its key.
Result<void> check_times(const CLI::App& command, const PlaceOptions& places,
                         const LaunchOptions& launch);

}  // namespace weft::cli
