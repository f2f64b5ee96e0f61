// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/exit_code.hpp"
#include "process/job_process.hpp"
#include "process/simulated/simulated_program.hpp"
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

// A real process leaves its job when it exits: what `main` does after `run_program` belongs to the
// program, and decides the exit code.

/// The job that this process has joined and not left.
struct Joined {
  std::unique_ptr<JobProcess> process;
  pid_t pid;  // not its children's
  bool has_returned;
};
Joined* joined = nullptr;

/// Nothing else of exit(3) follows.
[[noreturn]] void exit_now(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

/// Part of exit(3). Objects of static duration that the program made are still there when they were
/// made before it joined, and so may still be about to write: their output comes after the
/// departure.
void depart(int code, void*) {
  if (joined == nullptr || joined->pid != ::getpid()) return;
  if (!joined->has_returned) {
    // Somewhere on the stack the job is in use: it stays as it is. Its launcher reports the error.
    if (code != 0 || joined->process->is_launched()) return;
    fmt::print(stderr,
               "rank {}: exit was called before the program had returned, and others count on it; "
               "return from the function that run_program is given instead\n",
               joined->process->world().rank().value());
    exit_now(1);
  }
  const std::unique_ptr<Joined> leaving(std::exchange(joined, nullptr));
  // A process that is killed from here on is not missed: its output is flushed before.
  std::fflush(nullptr);
  const int left = leave_with(code, *leaving->process);
  if (left != code) exit_now(left);
}

/// Runs the program and returns its code. The process leaves the job in exit(3), with its exit
/// code: when that is 0, exit(3) first waits until all the others' programs are over. A process
/// that is killed before it calls exit(3) has not returned. Call it in `main`'s thread, once in a
/// process: while that is in another job already, it leaves this one as soon as the program has
/// returned.
int run_until_exit(std::unique_ptr<JobProcess> process, const Program& program,
                   std::span<const std::string> arguments) {
  // Registered behind all that joining has set up for exit(3), so that it comes before.
  const bool can_wait = joined == nullptr && ::on_exit(depart, nullptr) == 0;
  if (!can_wait) return leave_with(run_in(*process, program, arguments), *process);
  joined = new Joined{.process = std::move(process), .pid = ::getpid(), .has_returned = false};
  const int code = run_in(*joined->process, program, arguments);
  joined->has_returned = true;
  return code;
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
  auto code = run_lives(std::move(invitation), linked_lives(program, arguments));
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
