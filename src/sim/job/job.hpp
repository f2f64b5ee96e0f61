// SPDX-License-Identifier: Apache-2.0
// Job: processes on hosts of a simulated network, beside other jobs: the nodes of a stream, the
// ranks of a workload or a trace. JobDriver runs them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "sim/partition/exchange.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// The state of a job's processes in one part of a divided simulation, or in all parts together.
struct JobFacts {
  std::uint64_t changed = 0;     ///< a process has started, finished, failed or been killed
  std::uint64_t started = 0;     ///< processes
  std::uint64_t unfinished = 0;  ///< processes that live, run or will again, and have not finished
  std::uint64_t failed = 0;      ///< something is wrong

  static constexpr std::size_t size = 4;
  std::array<std::uint64_t*, size> all() { return {&changed, &started, &unfinished, &failed}; }
};

/// The failure that ended a job. Of several the least is reported, in any number of parts.
struct JobFailure {
  std::uint64_t order = 0;  ///< the lesser the earlier
  Error error;
};

/// In a divided simulation every part has one and does the same with it at the same simulated
/// times. One thread.
class Job {
 public:
  virtual ~Job() = default;
  virtual const std::string& name() const = 0;
  /// The facts known in this part.
  virtual JobFacts facts() const = 0;
  /// The failure in this part, if any.
  virtual std::optional<JobFailure> failure() const = 0;
  /// Takes the facts of all parts together; no part has failed.
  virtual void learn(const JobFacts& facts) = 0;
  /// Acts on events since the last call. Errors end the simulation.
  virtual Result<void> look_around() = 0;
  /// Nothing more will happen in it.
  virtual bool over() const = 0;
  /// It ends only when it is interrupted: it does not keep a simulation going.
  virtual bool is_endless() const { return false; }
  /// Ends it before its time, in agreement between its processes.
  virtual void interrupt() = 0;
  /// Ends it here and now, in any state of its processes.
  virtual void cut_off() { interrupt(); }
  /// Once, when it is over: collects its figures from all parts. Errors: there are none.
  virtual Result<void> conclude(Exchange& exchange) = 0;
  /// Takes the processes away, once they have been concluded: other jobs may still run.
  virtual void retire() = 0;
  /// Returns how often to look around, in simulated time.
  virtual PicoDuration slice() const = 0;
  /// Returns whether somebody is to hear how far it is, now. Asked of the first job, in the first
  /// part; if so, `tell_progress` is called in all parts.
  virtual bool wants_progress() const { return false; }
  virtual void tell_progress(Exchange&) {}
};

}  // namespace weft::sim
