// SPDX-License-Identifier: Apache-2.0
// FirstInterrupt: notices that the user wants an end.
#pragma once

#include <csignal>

namespace weft {

/// While one exists the first SIGINT is noted, for whoever asks; a second one ends the process, as
/// it usually does. One at a time.
class FirstInterrupt {
 public:
  FirstInterrupt();
  ~FirstInterrupt();
  FirstInterrupt(const FirstInterrupt&) = delete;
  FirstInterrupt& operator=(const FirstInterrupt&) = delete;
  bool came() const;

 private:
  struct sigaction former_ {};
};

}  // namespace weft
