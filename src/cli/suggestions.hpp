// SPDX-License-Identifier: Apache-2.0
// Suggested values of options, for the shell's completion; the options take other values too.
#pragma once

#include "cli/describe.hpp"

namespace weft::cli {

/// Returns the suggestions by option: fabrics, schedules, sources, sinks, topologies, presets and
/// others.
Suggestions suggestions();

/// Returns the list of fabrics for help: "auto, tcp, …".
std::string fabric_list();

}  // namespace weft::cli
