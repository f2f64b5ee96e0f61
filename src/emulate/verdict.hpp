// SPDX-License-Identifier: Apache-2.0
// Judges whether an emulated run counts: the ranks that were interposed, and the error otherwise.
#pragma once

#include "base/make_error.hpp"
#include "emulate/command.hpp"
#include "emulate/control/control_block.hpp"
#include "emulate/run.hpp"

namespace weft::emulate {

/// The run as the processes recorded it in the block: ranks, operations, bytes, times. Errors as
/// `run`.
Result<EmulatedRun> judge(const ControlBlock& block, const Command& command, const Ended& ended);

/// The number of ranks that the launcher's `-n 2` (or -np, -c) asks for; 0: it does not say.
unsigned ranks_asked(const Command& command);
/// Checks that so many ranks have links. Errors as `run`.
Result<void> check_ranks(const ControlBlock& block, unsigned ranks);

/// The error of a run that measures nothing: the text, and that there is no result.
template <class... Args>
Error no_result(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::unavailable, "{}; no result",
                    fmt::format(format, std::forward<Args>(args)...));
}
/// The error of a run that weft was told to end.
Error stopped();

}  // namespace weft::emulate
