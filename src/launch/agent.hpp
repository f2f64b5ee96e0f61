// SPDX-License-Identifier: Apache-2.0
// The agent: the launcher's helper on another machine, which `weft run --hosts` starts by ssh.
#pragma once

namespace weft {

/// Serves the launcher over standard input and output until either end closes one of them. Kills
/// the processes that it started before it returns. Returns the agent's exit code: 0 when the
/// launcher dismissed it.
int serve_launcher();

}  // namespace weft
