// SPDX-License-Identifier: Apache-2.0
#include "cli/emulation_options.hpp"

#include <CLI/CLI.hpp>

namespace weft::cli {

void add_ucx_flag(CLI::App& command, bool& use_ucx) {
  command.add_flag("--ucx", use_ucx,
                   "make Open MPI use UCX, which can be interposed; its default cannot");
}

}  // namespace weft::cli
