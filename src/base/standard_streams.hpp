// SPDX-License-Identifier: Apache-2.0
// Standard streams of a process, which its parent may have closed.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace weft {

/// Occupies the numbers of closed standard streams, so that no file or socket that weft opens gets
/// such a number and receives the stream's output. Reads and writes of these streams still fail.
inline void occupy_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    (void)!::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // the lowest number
  }
}

}  // namespace weft
