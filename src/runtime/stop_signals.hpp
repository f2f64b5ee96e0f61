// SPDX-License-Identifier: Apache-2.0
// StopSignals: notices that somebody wants an end, by SIGINT, SIGTERM or SIGHUP.
#pragma once

#include <csignal>

#include "weft/time.hpp"

namespace weft {

/// While one exists, these signals are counted for the process instead of ending it. They nest: an
/// inner one goes on counting where the outer one is, so that no signal falls between two parts of
/// a command. SIGHUP stays ignored where it is, as under nohup, and counts once: a terminal that is
/// closed sends it twice. Signals of another thread than the one that sleeps do not wake it: look
/// at `count` every now and then. Make and destroy them in one thread, the last first.
class StopSignals {
 public:
  enum class Second : bool {
    is_counted,  ///< somebody looks at `count` and ends the process in order
    kills,       ///< as if nobody caught it: nobody may get to look soon
  };
  /// `says`: a line for standard error when the first one comes; outlives this.
  explicit StopSignals(Second second = Second::is_counted, const char* says = nullptr);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Returns how many came since the outermost one was made.
  static int count();
  bool came() const { return count() > 0; }
  /// For how long it has been known; only when one came.
  static Duration since_first();
  /// The first of them; 0 when none came. Known until the next outermost one is
  /// made.
  static int number();
  /// For who waits for these signals, and so takes them itself: counts one.
  static void take(int number);

  /// For a forked process whose parent tells it when to end: it ignores these signals, which a
  /// terminal or a service manager sends to all processes at once.
  static void ignore();

 private:
  bool outermost_;
  bool kills_before_;
  const char* said_before_;
  struct sigaction former_interrupt_ {};
  struct sigaction former_terminate_ {};
  struct sigaction former_hang_up_ {};
};

}  // namespace weft
