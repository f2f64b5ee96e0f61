// SPDX-License-Identifier: Apache-2.0
// How a real process leaves its job: when it exits. The code of `main` after `run_program` belongs
// to the program, and its exit code is the process's.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "process/job_process.hpp"
#include "weft/program.hpp"

namespace weft {

/// Runs the program and returns its code. The process leaves the job in the course of exit(3), with
/// the code that it exits with: when that is 0, exit(3) returns after all the others' programs are
/// over. A process that is killed before that has not got through. For `main`'s thread; once in a
/// process, and when another job is under way already the process leaves at once.
int run_until_exit(std::unique_ptr<JobProcess> process, const Program& program,
                   std::span<const std::string> arguments);

}  // namespace weft
