// SPDX-License-Identifier: Apache-2.0
// SignalWatch: counts the signals that ask a process to end.
#pragma once

#include <csignal>

namespace weft::stream {

/// While one exists, SIGINT and SIGTERM are counted instead of ending the process. One at a time.
class SignalWatch {
 public:
  SignalWatch() {
    received_ = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { received_ = received_ + 1; };
    sigaction(SIGINT, &action, &former_interrupt_);
    sigaction(SIGTERM, &action, &former_terminate_);
  }
  ~SignalWatch() {
    sigaction(SIGINT, &former_interrupt_, nullptr);
    sigaction(SIGTERM, &former_terminate_, nullptr);
  }
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;
  int count() const { return received_; }

 private:
  static inline volatile std::sig_atomic_t received_ = 0;
  struct sigaction former_interrupt_ {};
  struct sigaction former_terminate_ {};
};

}  // namespace weft::stream
