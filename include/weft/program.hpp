// SPDX-License-Identifier: Apache-2.0
// A program of many processes: its interface, and how its `main` starts it. The same program runs
// under `weft run`, under mpirun or srun, from a configuration file, alone, and as one of a
// thousand simulated processes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "weft/message.hpp"
#include "weft/time.hpp"

namespace weft {

/// One process of a job. The job owns the object, which is valid while the program runs. One thread
/// at a time calls it.
class Process {
 public:
  virtual ~Process() = default;

  /// The communicator of all processes of the job. It is valid as long as this object.
  virtual Communicator& world() = 0;
  /// Returns the number of this rank's present life. It grows with each life. In a job from a file
  /// it comes from the time of day; elsewhere the first life is number 1.
  virtual Incarnation incarnation() const = 0;
  /// Returns the time since this life of the process joined the job, by the process's clock. In a
  /// simulation that is a simulated clock.
  virtual Duration elapsed() const = 0;
  /// Announces computation: a simulated process lets this much simulated time pass, unless the
  /// scenario measures computation (`compute = "measured"`). A real process returns at once, since
  /// its own work takes the time. A time that is not positive has no effect.
  virtual void compute(Duration time) = 0;
  /// Begins the phase of that name, which lasts until the next call. The prediction of a simulation
  /// gives the time and messages of each phase; phases of the same name count as one. Real
  /// processes ignore the call.
  virtual void phase(std::string_view name) { (void)name; }
  /// Marks the end of an iteration of the program's main loop. Traces and controllers count
  /// iterations; without them the call does nothing.
  virtual void mark_progress() {}
};

/// A program's body, which runs once per process. A simulation runs it once per rank in the same
/// address space, so the body keeps its state in local variables. It gets the arguments after the
/// program's name, and returns the process's exit code.
using Program = std::function<int(Process&, std::span<const std::string>)>;

/// Joins the job that the environment describes and runs the program; if the environment describes
/// none, this process is a job of its own. Call it from `main`. Returns the program's code, or 1,
/// with one line on standard error, when the process cannot join the job or the program throws a
/// std::exception. The rest of `main` belongs to the program: the process leaves the job during
/// exit(3), with its exit code. When that code is 0, exit(3) waits until the programs of all
/// processes are over, since they may need this process's messages again. A process that exits with
/// 0 in another way, or before its program has returned, fails the job.
int run_program(int argc, char** argv, const Program& program);

}  // namespace weft
