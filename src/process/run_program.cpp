// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <exception>
#include <string>
#include <vector>

#include "process/job_process.hpp"
#include "weft/program.hpp"

namespace weft {
namespace {

constexpr int failed = 1;

int run_in(JobProcess& process, const Program& program, std::span<const std::string> arguments) {
  int code = failed;
  try {
    code = program(process, arguments);
  } catch (const std::exception& e) {
    fmt::print(stderr, "rank {}: {}\n", process.world().rank().value(), e.what());
  }
  std::fflush(stdout);
  // An earlier life of this rank got through, and the job is over.
  if (process.over()) code = 0;
  if (code != 0) {
    process.fail(fmt::format("rank {} ended with code {}", process.world().rank().value(), code));
    return code;
  }
  if (auto left = process.leave(); !left) {
    fmt::print(stderr, "rank {}: {}\n", process.world().rank().value(), left.error().message);
    process.fail(left.error().message);
    return failed;
  }
  return 0;
}

}  // namespace

int run_program(int argc, char** argv, const Program& program) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  auto process = JobProcess::join();
  if (!process) {
    fmt::print(stderr, "{}: {}\n", argc > 0 ? argv[0] : "weft", process.error().message);
    return failed;
  }
  return run_in(**process, program, arguments);
}

}  // namespace weft
