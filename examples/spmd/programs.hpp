// SPDX-License-Identifier: Apache-2.0
// The programs: bodies for run_program.
#pragma once

#include <span>
#include <string>

#include "weft/program.hpp"

namespace weft::examples {

int jac1d(Process& process, std::span<const std::string> arguments);
int jac2d(Process& process, std::span<const std::string> arguments);
int jac3d(Process& process, std::span<const std::string> arguments);
int markov(Process& process, std::span<const std::string> arguments);
int markov2(Process& process, std::span<const std::string> arguments);
int propagation2d(Process& process, std::span<const std::string> arguments);
int spmv(Process& process, std::span<const std::string> arguments);
int spmv2(Process& process, std::span<const std::string> arguments);
int vsum(Process& process, std::span<const std::string> arguments);
int vsum2(Process& process, std::span<const std::string> arguments);
int vsum3(Process& process, std::span<const std::string> arguments);

}  // namespace weft::examples
