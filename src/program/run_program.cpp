// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/exit_code.hpp"
#include "process/job_process.hpp"
#include "process/simulated/simulated_program.hpp"
#include "program/exit_departure.hpp"
#include "program/recorded_process.hpp"
#include "weft/program.hpp"

namespace weft {
namespace {

using Arguments = std::span<const std::string>;

/// The program itself where the environment asks for no recording, or one that does the same and
/// leaves a recording of its messages and computation, of which `weft trace record` makes a trace:
/// real processes and simulated ones alike, by their own clocks.
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

/// This process is one of the job's, until it exits.
Result<int> run_one(JobInvitation invitation, const Program& program, Arguments arguments) {
  auto process = JobProcess::join(std::move(invitation));
  // The launcher has said why it ends the job.
  if (!process && process.error().code == ErrorCode::cancelled) return 1;
  if (!process) return std::move(process).error();
  return run_until_exit(std::move(process).value(), program, arguments);
}

/// A simulation stands for the command that started it, and its errors have that one's exit codes.
Result<int> run_simulation(JobInvitation invitation, const Program& program, Arguments arguments) {
  auto code = run_simulated(std::move(invitation), program, arguments);
  if (code) return code;
  fmt::print(stderr, "weft run: {}\n", code.error().message);
  return static_cast<int>(exit_code_of(code.error().code));
}

/// Runs the processes of jobs whose fabric's name has that prefix.
struct Runner {
  std::string_view prefix;
  Result<int> (*run)(JobInvitation, const Program&, Arguments);
};
constexpr std::array runners = {Runner{simulation_prefix, run_simulation}, Runner{"", run_one}};

Result<int> run(JobInvitation invitation, const Program& program, Arguments arguments) {
  std::size_t i = 0;
  while (!std::string_view(invitation.job.fabric).starts_with(runners[i].prefix)) ++i;
  return runners[i].run(std::move(invitation), program, arguments);
}

}  // namespace

int run_program(int argc, char** argv, const Program& program) {
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  auto invitation = JobInvitation::take();
  const auto code = invitation
                        ? run(std::move(invitation).value(), recorded_if_asked(program), arguments)
                        : Result<int>(invitation.error());
  if (code) return *code;
  fmt::print(stderr, "{}: {}\n", argc > 0 ? argv[0] : "weft", code.error().message);
  return 1;
}

}  // namespace weft
