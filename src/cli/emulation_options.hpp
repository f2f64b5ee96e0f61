// SPDX-License-Identifier: Apache-2.0
// Options that `weft emulate` and `weft sweep` share.
#pragma once

namespace CLI {
class App;
}

namespace weft::cli {

/// --ucx: Open MPI is to use UCX in place of its default.
void add_ucx_flag(CLI::App& command, bool& use_ucx);

}  // namespace weft::cli
