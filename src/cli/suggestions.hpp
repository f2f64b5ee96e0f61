// SPDX-License-Identifier: Apache-2.0
// The beginnings of some options' values, for completion. They are offered, not demanded.
#pragma once

#include "cli/describe.hpp"

namespace weft::cli {

/// By option: fabrics, schedules, sources, sinks, topologies and presets.
Suggestions suggestions();

/// "auto, tcp, …": the fabrics, for help.
std::string fabric_list();

}  // namespace weft::cli
