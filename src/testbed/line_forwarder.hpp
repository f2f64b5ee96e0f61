// SPDX-License-Identifier: Apache-2.0
// LineForwarder: passes on a process's output, line by line, each with a prefix.
#pragma once

#include <string>

#include "base/descriptor.hpp"

namespace weft::testbed {

/// Forwards whole lines, so that lines of several processes do not mix. It passes on a line longer
/// than 64 KiB in pieces, each as a line of its own, and drops text that `to` does not take. One
/// thread.
class LineForwarder {
 public:
  LineForwarder() = default;
  /// Reads `from`, which must not block, and writes to `to`, which may block and which the caller
  /// keeps open.
  LineForwarder(Descriptor from, int to, std::string prefix)
      : from_(std::move(from)), to_(to), prefix_(std::move(prefix)) {}

  bool open() const { return from_.open(); }
  int descriptor() const { return from_.get(); }
  /// Reads at most 256 KiB and forwards the complete lines. Closes `from` at its end.
  void forward();
  /// As `forward`, and then forwards an unfinished line and closes `from`.
  void finish();

 private:
  void write_lines(bool all);

  Descriptor from_;
  int to_ = -1;
  std::string prefix_;
  std::string pending_;
};

}  // namespace weft::testbed
