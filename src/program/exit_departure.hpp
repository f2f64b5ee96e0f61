// SPDX-License-Identifier: Apache-2.0
// A real process leaves its job when it exits: what `main` does after `run_program` belongs to the
// program, and decides the exit code.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "process/job_process.hpp"
#include "weft/program.hpp"

namespace weft {

/// Runs the program and returns its code. The process leaves the job in exit(3), with its exit
/// code: when that is 0, exit(3) first waits until all the others' programs are over. A process
/// that is killed before it calls exit(3) has not returned. Call it in `main`'s thread, once in a
/// process: while that is in another job already, it leaves this one as soon as the program has
/// returned.
int run_until_exit(std::unique_ptr<JobProcess> process, const Program& program,
                   std::span<const std::string> arguments);

}  // namespace weft
