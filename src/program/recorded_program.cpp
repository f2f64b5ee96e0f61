// SPDX-License-Identifier: Apache-2.0
#include "program/recorded_program.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "program/recorded_process.hpp"

namespace weft {

Program recorded_if_asked(const Program& program) {
  const char* directory = std::getenv(trace::recordings_variable);
  if (directory == nullptr) return program;
  return [program, directory = std::string(directory)](Process& process,
                                                       std::span<const std::string> arguments) {
    auto recorded = RecordedProcess::begin(process, directory);
    if (!recorded) {
      fmt::print(stderr, "rank {}: {}\n", process.world().rank().value(), recorded.error().message);
      return 1;
    }
    const int code = program(**recorded, arguments);
    if (code == 0) (*recorded)->end();
    return code;
  };
}

}  // namespace weft
