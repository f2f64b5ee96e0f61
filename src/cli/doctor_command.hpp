// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/commands.hpp"

namespace weft::cli {

/// `weft doctor`.
void add_doctor_command(CLI::App& root, Outcome& outcome);

}  // namespace weft::cli
