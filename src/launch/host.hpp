// SPDX-License-Identifier: Apache-2.0
// Host: a machine that some of a job's processes run on, as its launcher sees it.
#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/channel.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

class Host;

/// Events that a launcher receives from its hosts.
class HostListener {
 public:
  virtual ~HostListener() = default;
  virtual void on_message(std::uint32_t rank, Channel::Message message) = 0;
  /// `status` is waitpid(2)'s. All messages of the process were delivered before.
  virtual void on_end(std::uint32_t rank, int status) = 0;
  /// Receives output of a process whose standard output is not the launcher's own. No bytes: it
  /// has ended, and there will be no more.
  virtual void on_output(std::uint32_t rank, std::string_view bytes) = 0;
  /// True when the host must not read more output for now.
  virtual bool output_full() const = 0;
  /// It has answered.
  virtual void on_up(Host& host) = 0;
  /// With all processes that ran there. `was_up`: it had answered.
  virtual void on_lost(Host& host, const std::string& why, bool was_up) = 0;
  /// A process could not be started; it will not be heard of.
  virtual void on_failure(const std::string& why) = 0;
};

/// Nothing here blocks. One thread.
class Host {
 public:
  virtual ~Host() = default;
  /// For messages; empty: this machine.
  virtual const std::string& name() const = 0;
  /// `description`: the first message to the process.
  virtual Result<void> start(std::uint32_t rank, const std::string& description) = 0;
  /// The job has so many ranks now, and those that are new run `command`.
  virtual void grow(std::uint32_t ranks, const std::vector<std::string>& command) = 0;
  /// Ends a rank's process, if there is one.
  virtual void kill(std::uint32_t rank) = 0;
  virtual void send(std::uint32_t rank, char kind, std::string_view text) = 0;
  virtual void signal_all(int number) = 0;
  /// No process runs any more, and none will.
  virtual void finish() {}
  /// From then on no process that was started there before it was lost runs any more.
  virtual Instant clear_at() const { return {}; }
  /// There is nothing left to wait for.
  virtual bool is_finished() const { return true; }

  virtual void add_to(std::vector<pollfd>& files) const = 0;
  virtual Instant next_deadline() const { return Instant::never(); }
  /// Does all pending work and tells the listener.
  virtual void step(Instant now, HostListener& listener) = 0;
};

}  // namespace weft
