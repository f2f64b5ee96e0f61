// SPDX-License-Identifier: Apache-2.0
// A program that a test runs, with its output.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Killed with the test, or with this object.
class NodeProcess {
 public:
  /// `command`: a path and its arguments. `environment`: "NAME=VALUE" to add.
  explicit NodeProcess(const std::vector<std::string>& command,
                       const std::vector<std::string>& environment = {});
  ~NodeProcess();
  NodeProcess(NodeProcess&& other) noexcept;
  NodeProcess& operator=(NodeProcess&& other) noexcept;

  /// Waits until standard error contains `text`; false when it ended or half a minute went by
  /// without.
  bool says(std::string_view text);
  /// Waits for the end. The exit code, 128 + signal, or −1 after half a minute.
  int wait();
  void signal(int number) const;
  pid_t pid() const { return pid_; }

  const std::string& output() const { return output_; }
  const std::string& errors() const { return errors_; }

 private:
  /// Takes in the output; waits at most until `deadline` (ms). False when both pipes are closed or
  /// time is over.
  bool read_more(long deadline);

  pid_t pid_ = -1;
  int output_pipe_ = -1;
  int error_pipe_ = -1;
  std::string output_;
  std::string errors_;
};

}  // namespace weft
