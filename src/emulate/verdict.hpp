// SPDX-License-Identifier: Apache-2.0
// Judges whether an emulated run counts: the ranks that were interposed, and the error otherwise.
#pragma once

#include "emulate/command.hpp"
#include "emulate/control/control_block.hpp"
#include "emulate/run.hpp"

namespace weft::emulate {

/// The run as the processes recorded it in the block: ranks, operations, bytes, times. Errors as
/// `run`.
Result<EmulatedRun> judge(const ControlBlock& block, const Command& command, const Ended& ended);

/// The error of a run that measures nothing: `text`, and that there is no result.
Error no_result(std::string text);
/// The error of a run that weft was told to end.
Error stopped();

}  // namespace weft::emulate
