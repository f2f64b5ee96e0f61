// SPDX-License-Identifier: Apache-2.0
// A server and its client as processes: starts them, and words the errors of those that fail.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "emulate/own_process.hpp"
#include "weft/result.hpp"

namespace weft::emulate {

/// Replaces each name by its text, everywhere.
using Replacements = std::vector<std::pair<std::string, std::string>>;
std::string with_replaced(std::string text, const Replacements& replacements);

struct Start {
  std::vector<std::string> words;
  int output = STDOUT_FILENO;
  bool own_group = false;
  bool reads_input = true;
  Replacements environment;
  std::function<Result<void>()> enter;  ///< called in the child first; may be empty
};
/// -1: no process could be started. It ends with the calling thread.
pid_t start_process(Start start);

/// A process, or the group that it leads, which ends with this object: SIGTERM, and SIGKILL half a
/// second later.
class OwnedProcess {
 public:
  explicit OwnedProcess(Start start);
  ~OwnedProcess();
  OwnedProcess(const OwnedProcess&) = delete;
  OwnedProcess& operator=(const OwnedProcess&) = delete;

  bool was_started() const { return ended_.open(); }
  /// Readable when it has ended.
  int descriptor() const { return ended_.get(); }
  /// The status of waitpid, once it has ended; nothing before.
  std::optional<int> status();

 private:
  void signal(int number) const;

  bool leads_group_;
  pid_t pid_;
  std::optional<int> status_;
  Descriptor ended_;
};

/// A shell command that serves, from its start to its end.
class Server {
 public:
  Server(const std::string& command, Start start);

  /// Checks that the server still runs, or has gone into the background.
  Result<void> check(const char* when);
  /// Waits until `listens`, 10 s at most; `where` says what it should have done. Error (cancelled):
  /// `stop` came.
  Result<void> await(const std::function<bool()>& listens, const std::string& where,
                     const StopRequest& stop);

 private:
  const std::string& command_;
  OwnedProcess process_;
};

/// A file in memory, for a client's standard output.
class Capture {
 public:
  explicit Capture(bool wanted);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  int output() const { return file_ >= 0 ? file_ : STDOUT_FILENO; }
  std::string text() const;

 private:
  int file_;
};

}  // namespace weft::emulate
