// SPDX-License-Identifier: Apache-2.0
// AgentGuard: one agent of a job on a machine at a time.
#pragma once

#include <string>

#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// Holds a name among the machine's abstract Unix sockets, which the kernel frees at every end of
/// the process. One thread.
class AgentGuard {
 public:
  AgentGuard() = default;
  ~AgentGuard();
  AgentGuard(const AgentGuard&) = delete;
  AgentGuard& operator=(const AgentGuard&) = delete;

  /// Asks an earlier holder of the name to end, and waits for that, at most so long.
  Result<void> take(const std::string& name, Duration patience);
  /// Readable when `is_asked_for` may say something new; -1: the name was not taken.
  int descriptor() const { return socket_; }
  /// A later agent of this user wants the name: this one ends with its processes.
  bool is_asked_for() const;

 private:
  int socket_ = -1;
};

}  // namespace weft
