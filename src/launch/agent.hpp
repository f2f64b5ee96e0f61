// SPDX-License-Identifier: Apache-2.0
// The agent of a launcher on another machine, which `weft run --hosts` starts there by ssh.
#pragma once

namespace weft {

/// Serves the launcher over standard input and output until either is closed, by either end; then
/// no process that it started is left. Its exit code: 0 when the launcher let it go.
int serve_launcher();

}  // namespace weft
