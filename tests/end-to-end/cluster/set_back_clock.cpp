// SPDX-License-Identifier: Apache-2.0
// Preloaded into a process, it sets a clock of that process back: the time of day by an hour, or
// CLOCK_MONOTONIC by ten years, to before the machine was started.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, time);
#ifdef WEFT_MONOTONIC
  if (result == 0 && clock == CLOCK_MONOTONIC) time->tv_sec -= 10 * 365 * 24 * 3600;
#else
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec -= 3600;
#endif
  return static_cast<int>(result);
}
