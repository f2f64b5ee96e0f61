// SPDX-License-Identifier: Apache-2.0
// A job of processes that exchange messages, in one thread on the loopback fabric, with virtual
// time. Every message's contents are checked where they arrive.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "core/message/machine.hpp"
#include "fabric/loopback/loopback.hpp"

namespace weft::message::testing {

/// One send or receive of a process's program.
struct Step {
  bool sends = false;
  std::uint32_t peer = 0;
  std::uint32_t tag = 0;
  std::uint32_t size = 0;
};

inline constexpr std::uint32_t listened_tag = 3;

struct JobOptions {
  std::uint32_t processes = 4;
  std::uint64_t seed = 1;
  bool retain = false;
  std::size_t eager_limit = 256;
  ByteCount inbox = ByteCount::kib(64);
  message::OutboxRoom outbox;
  std::size_t outstanding = 8;  ///< operations of a process at once
  Duration give_up_after = Duration::max();
  std::size_t max_write = 700;  ///< so that some messages take several
  std::size_t write_window = std::numeric_limits<std::size_t>::max();
  bool lossless = false;  ///< the connections say so
  /// Sinks take the messages of `listened_tag`, which are short then.
  bool listens = false;
};

/// Messages drawn from a seed, in an order that every process keeps more or less: receives are
/// started up to `disorder` steps early or late, which no sender may notice.
std::vector<std::vector<Step>> draw_programs(Rng rng, std::uint32_t processes,
                                             std::uint32_t messages, std::uint32_t largest,
                                             std::uint32_t disorder);

class Job {
 public:
  Job(const JobOptions& options, std::vector<std::vector<Step>> programs);
  ~Job();

  /// Lets every living process do one round of work, in an order drawn from the seed.
  void step();
  /// Steps until all have left; false when `limit` steps were not enough.
  bool run(int limit = 200'000);
  void kill(std::uint32_t process);
  /// Its next life begins its program anew.
  void restart(std::uint32_t process);
  /// Lives that begin from now on keep no messages.
  void keep_nothing_from_now() { options_.retain = false; }
  /// It keeps none any more. `newest_lives`: of all processes.
  void stop_keeping(std::uint32_t process, std::span<const std::uint32_t> newest_lives);
  void break_connection(std::uint32_t a, std::uint32_t b);
  /// A paused process does nothing.
  void pause(std::uint32_t process, bool paused);

  bool alive(std::uint32_t process) const;
  /// Of a process, that lives or has died; the first is 1.
  std::uint32_t life(std::uint32_t process) const;
  bool any_left() const;
  bool decided() const;
  MessageMachine& machine(std::uint32_t process);
  /// A hash of the results of all operations of a process, in a life that completed its program.
  std::uint64_t hash(std::uint32_t process) const;
  /// The first error; empty: none.
  const std::string& trouble() const { return trouble_; }
  /// Failures of operations, as they came.
  const std::vector<OperationState>& failures() const { return failures_; }
  std::size_t started(std::uint32_t process) const;
  Instant now() const { return now_; }
  void advance(Duration by) { now_ = now_ + by; }
  std::uint64_t most_inbox() const { return most_inbox_; }

 private:
  struct Process;
  void turn(std::uint32_t process);
  void work(Process& process);
  void begin(Process& process, const Step& step);
  void finish(Process& process);

  JobOptions options_;
  Rng rng_;
  LoopbackHub hub_;
  std::vector<std::vector<Step>> programs_;
  std::vector<std::unique_ptr<Process>> processes_;
  Instant now_{};
  std::string trouble_;
  std::vector<OperationState> failures_;
  std::uint64_t most_inbox_ = 0;
};

}  // namespace weft::message::testing
