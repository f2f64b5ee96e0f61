// SPDX-License-Identifier: Apache-2.0
// Preloaded into a process, it sets that process's time of day back by an hour.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec -= 3600;
  return static_cast<int>(result);
}
