// SPDX-License-Identifier: Apache-2.0
#include "program/exit_departure.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace weft {
namespace {

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

}  // namespace

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

}  // namespace weft
