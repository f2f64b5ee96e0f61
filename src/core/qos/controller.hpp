// SPDX-License-Identifier: Apache-2.0
// The controller of processes' service levels (paper 5, section 3): a machine that is given the
// progress of every job in a window of time, and decides the levels of the next. It knows nothing
// of the network that carries the levels out, nor of time: windows follow each other.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace weft::qos {

using Level = std::uint8_t;
/// The level of every process that nobody decided about.
inline constexpr Level default_level = 0;

/// Levels and their weights. A process has the same level for all that it sends and receives.
struct Configuration {
  std::vector<Level> level_of;          ///< by process, over all jobs, job by job
  std::vector<std::uint8_t> weight_of;  ///< by level, at least 1

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// The facts about a job before it runs.
struct JobFacts {
  std::uint32_t processes = 0;
  std::uint64_t message_bytes = 0;  ///< of its longest messages
};

/// The progress of a job's processes in one window.
struct JobWindow {
  std::span<const std::uint64_t> iterations;  ///< calls of mark_progress, by process
  /// The share of the window that each process waited for messages, in [0, 1]; empty where nobody
  /// measures it.
  std::span<const double> waited = {};
  /// The iterations with the share of the next one, by process; empty where nobody measures it.
  std::span<const double> progress = {};

  /// The work of the job: its slowest process's (paper 5, 5.2). Zero for a job without processes.
  std::uint64_t work() const;
  /// The same with the share of the next iteration, where it is measured: whole iterations hide a
  /// change by less than one of them.
  double progress_of_slowest() const;
};

/// One thread. Two controllers with the same seed that observe the same decide the same.
class Controller {
 public:
  virtual ~Controller() = default;

  virtual std::string_view name() const = 0;
  /// A number that grows when it decides otherwise for the same windows than in an earlier weft.
  virtual std::uint32_t version() const { return 1; }
  /// The mix of jobs is another one now. Everything starts anew (line 35).
  virtual void on_jobs(std::span<const JobFacts> jobs) = 0;
  /// The configuration of the next window. Valid until the next call of another function.
  virtual const Configuration& configuration() const = 0;
  /// Reports a completed window: one entry for every job, in the order of `on_jobs`.
  virtual void on_window(std::span<const JobWindow> jobs) = 0;
  /// True when the controller has finished its search: the configuration changes only with the
  /// jobs.
  virtual bool is_settled() const = 0;
  /// Configurations since the last `on_jobs` that were better than all before them (6.8).
  virtual std::uint32_t accepted() const = 0;
};

/// The improvement of a job's work, as a fraction of that on the default level. A job that did
/// nothing there counts as if it had done one iteration.
double gain(double work, double on_default);
/// The mean of the jobs' gains (3.3).
double improvement(std::span<const std::uint64_t> work, std::span<const std::uint64_t> on_default);

}  // namespace weft::qos
