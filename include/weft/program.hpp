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

/// One process of a job.
class Process {
 public:
  virtual ~Process() = default;

  /// All processes of the job.
  virtual Communicator& world() = 0;
  /// Grows with each life of this rank: 1 for the first, or the time of day in a job from a file.
  virtual Incarnation incarnation() const = 0;
  /// Time since the job's start, by this process's clock: simulated where the job is.
  virtual Duration elapsed() const = 0;
  /// A simulated process computes for that long; a real one returns at once, since its own work
  /// takes the time. For computation that the measured time of the host would not show.
  virtual void compute(Duration time) = 0;
  /// Begins the phase of that name, which lasts until the next call: predictions say what time and
  /// messages each phase takes. A name may be used again. Real processes ignore it.
  virtual void phase(std::string_view name) { (void)name; }
  /// An iteration of the program's main loop is done. For traces and controllers, which count
  /// iterations; without one the call does nothing.
  virtual void mark_progress() {}
};

/// A program's body. Runs once per process, in a simulation once per rank in the same address
/// space: it keeps its state in local variables. `arguments` are those behind the program's name.
/// Returns the process's exit code.
using Program = std::function<int(Process&, std::span<const std::string>)>;

/// Joins the job that the environment describes (none: a job of this process alone) and runs the
/// program. For `main`: returns the program's code, 1 with one line on standard error when the job
/// cannot be joined. The rest of `main` belongs to the program: the process leaves the job in the
/// course of exit(3), with the code that it exits with. When that is 0, it waits there until the
/// programs of all processes are over, since they may need its messages again. A process that exits
/// with 0 in another way, or before its program has returned, is an error of the job.
int run_program(int argc, char** argv, const Program& program);

}  // namespace weft
