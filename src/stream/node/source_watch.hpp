// SPDX-License-Identifier: Apache-2.0
// SourceWatch: the descriptor that a source waits for, behind one that stays the same.
#pragma once

namespace weft::stream {

/// Sources name a descriptor when they have nothing yet, another one or none the next time. A
/// driver's loop wants one for the node's whole life. One thread.
class SourceWatch {
 public:
  SourceWatch();
  ~SourceWatch();
  SourceWatch(const SourceWatch&) = delete;
  SourceWatch& operator=(const SourceWatch&) = delete;

  /// Readable when the watched descriptor has become so, until `has_news` was called.
  int descriptor() const { return poll_; }
  /// Waits for `descriptor` to become readable, once; −1: for nothing.
  void wait_for(int descriptor);
  /// Returns whether it has. Costs a system call only while something is waited for.
  bool has_news();

 private:
  int poll_;
  int known_ = -1;  // in poll_, waited for or not
  bool waits_ = false;
};

}  // namespace weft::stream
