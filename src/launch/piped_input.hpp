// SPDX-License-Identifier: Apache-2.0
// PipedInput: the launcher's standard input where it is no file: what was read of it cannot be read
// again.
#pragma once

namespace weft {

class PipedInput {
 public:
  /// `descriptor` is looked at now, before any process may have read of it.
  explicit PipedInput(int descriptor);

  /// There is, or was, something in it, or its other end was closed since; then a process may have
  /// read it. An open pipe in which nothing was ever seen, such as a terminal, is taken for unused.
  bool may_have_been_read() const;

 private:
  struct State {
    bool is_pipe = false;
    bool has_data = false;
    bool is_closed = false;  ///< its other end
  };
  static State look_at(int descriptor);

  int descriptor_;
  State begun_;
};

}  // namespace weft
