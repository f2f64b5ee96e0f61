// SPDX-License-Identifier: Apache-2.0
#include "process/joined_process.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "base/system_error.hpp"

namespace weft {

namespace {

constexpr int failed = 1;

}  // namespace

int run_in(JoinedProcess& process, const Program& program, std::span<const std::string> arguments) {
  const std::uint32_t rank = process.world().rank().value();
  const auto wanted = process.may_begin();
  if (!wanted) {
    fmt::print(stderr, "rank {}: {}\n", rank, wanted.error().message);
    return failed;
  }
  if (!*wanted) return 0;
  int code = failed;
  try {
    code = program(process, arguments);
  } catch (const std::exception& e) {
    fmt::print(stderr, "rank {}: {}\n", rank, text_of(e));
  }
  std::fflush(stdout);
  return code;
}

int leave_with(int code, JoinedProcess& process) {
  const std::uint32_t rank = process.world().rank().value();
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
