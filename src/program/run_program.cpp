// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <vector>

#include "process/job_process.hpp"
#include "weft/program.hpp"

namespace weft {

int run_program(int argc, char** argv, const Program& program) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto refuse = [&](const Error& error) {
    fmt::print(stderr, "{}: {}\n", argc > 0 ? argv[0] : "weft", error.message);
    return 1;
  };
  auto invitation = JobInvitation::take();
  if (!invitation) return refuse(invitation.error());
  auto process = JobProcess::join(std::move(invitation).value());
  if (!process) return refuse(process.error());
  return run_joined(**process, program, arguments);
}

}  // namespace weft
