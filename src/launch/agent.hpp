// SPDX-License-Identifier: Apache-2.0
// The agent of a launcher on another machine: what `weft run --hosts` has ssh start there.
#pragma once

namespace weft {

/// Serves the launcher over standard input and output until either is closed, by whatever end; then
/// no process that it started is left. Its exit code: 0 when the launcher let it go.
int serve_launcher();

}  // namespace weft
