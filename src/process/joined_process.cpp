// SPDX-License-Identifier: Apache-2.0
#include "process/joined_process.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace weft {

int run_joined(JoinedProcess& process, const Program& program,
               std::span<const std::string> arguments) {
  constexpr int failed = 1;
  const std::uint32_t rank = process.world().rank().value();
  int code = failed;
  try {
    code = program(process, arguments);
  } catch (const std::exception& e) {
    fmt::print(stderr, "rank {}: {}\n", rank, e.what());
  }
  std::fflush(stdout);
  // An earlier life of this rank got through, and the job is over.
  if (process.over()) code = 0;
  if (code != 0) {
    process.fail(fmt::format("rank {} ended with code {}", rank, code));
    return code;
  }
  if (auto left = process.leave(); !left) {
    fmt::print(stderr, "rank {}: {}\n", rank, left.error().message);
    process.fail(left.error().message);
    return failed;
  }
  return 0;
}

}  // namespace weft
