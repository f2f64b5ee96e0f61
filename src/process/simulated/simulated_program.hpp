// SPDX-License-Identifier: Apache-2.0
// All processes of a program in one simulation: each of them a fiber of this thread, on hosts of a
// network that a scenario describes. They die and are started anew as the scenario says.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "process/job_process.hpp"
#include "process/simulated/program_report.hpp"
#include "process/simulated/simulated_rank.hpp"
#include "sim/job/job_beside.hpp"
#include "sim/scenario/scenario.hpp"
#include "weft/program.hpp"
#include "weft/result.hpp"

namespace weft {

/// The beginning of the name of a simulated fabric: "sim:SCENARIO.toml".
inline constexpr std::string_view simulation_prefix = "sim:";

struct SimulatedOutcome {
  int code = 0;  ///< the first process's that was not 0; 137 for one that was killed for good
  ProgramReport report;
};

/// The lives of a program that this process is linked with.
LifeMaker linked_lives(const Program& program, std::span<const std::string> arguments);

/// Lives `job.nodes` lives at once. With `job.retain` processes that die are started anew. `say`
/// gets a line for each death. Jobs `beside` it get hosts that it left, and it lasts until those
/// have ended that end by themselves. Errors: those of the scenario; a job that does not end: whose
/// processes wait for each other for ever, or longer than the scenario's limit.
Result<SimulatedOutcome> simulate_lives(const sim::Scenario& scenario, const JobDescription& job,
                                        LifeMaker make_life,
                                        const std::function<void(const std::string&)>& say,
                                        std::span<const sim::JobBeside> beside = {});

/// Reads the scenario that the job's fabric names, lives such lives and runs the scenario's
/// workloads and traces beside them, sends the predictions to the launcher. Returns the exit code.
/// Errors: as above; a file without a readable scenario.
Result<int> run_lives(JobInvitation invitation, LifeMaker make_life);

}  // namespace weft
