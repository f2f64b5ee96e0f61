// SPDX-License-Identifier: Apache-2.0
// A program of many processes: what it is given, and how its `main` starts it. The same program
// runs under `weft run`, under mpirun or srun, from a configuration file, alone, and as one of a
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
  /// How often this rank has been started anew after a failure: 1 for its first life.
  virtual Incarnation incarnation() const = 0;
  /// Since the job's start, by this process's clock: simulated where the job is.
  virtual Duration elapsed() const = 0;
  /// Lets that much time of computing pass: by simulated processes; real ones take theirs by
  /// themselves, and return at once. For what the measured time of the host would not show.
  virtual void compute(Duration time) = 0;
  /// What comes from here on is the phase of that name, until the next call: predictions say what
  /// time and messages each of them takes. Names may come again. Real processes ignore it.
  virtual void phase(std::string_view name) { (void)name; }
  /// An iteration of the program's main loop is done. For traces and controllers, which count
  /// them; nothing happens where there are none.
  virtual void mark_progress() {}
};

/// A program's body. Runs once per process, in a simulation once per rank in the same address
/// space: it keeps its state in local variables. `arguments` are those behind the program's name.
/// Returns the process's exit code.
using Program = std::function<int(Process&, std::span<const std::string>)>;

/// Joins the job that the environment describes (none: a job of this process alone) and runs the
/// program. For `main`: returns the program's code, 1 with one line on standard error when the job
/// cannot be joined. What `main` does after that belongs to the program: the process leaves the job
/// in the course of exit(3), with the code that it exits with. When that is 0, it waits there until
/// the programs of all processes are over, since they may have to hear again what it sent. A
/// process that exits with 0 by other ways, or before its program has returned, is an error of the
/// job.
int run_program(int argc, char** argv, const Program& program);

}  // namespace weft
