// SPDX-License-Identifier: Apache-2.0
// LineForwarder: passes on a process's output, line by line.
#pragma once

#include <string>

#include "base/descriptor.hpp"

namespace weft::testbed {

/// Lines of several processes do not mix in the middle, except those longer than 64 KiB.
class LineForwarder {
 public:
  LineForwarder() = default;
  /// Reads `from`, which must not block, and writes to `to`, which may.
  LineForwarder(Descriptor from, int to, std::string prefix)
      : from_(std::move(from)), to_(to), prefix_(std::move(prefix)) {}

  bool open() const { return from_.open(); }
  int descriptor() const { return from_.get(); }
  /// Forwards the lines there are. Closes itself at the end.
  void forward();
  /// Forwards the lines there are, and an unfinished one, and closes.
  void finish();

 private:
  void write_lines(bool all);

  Descriptor from_;
  int to_ = -1;
  std::string prefix_;
  std::string pending_;
};

}  // namespace weft::testbed
