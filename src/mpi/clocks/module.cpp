// SPDX-License-Identifier: Apache-2.0
// The clocks module: it is loaded before the C library into programs that may be started anew, and
// asks MPI's library what the program shall see of the C library's clocks. It lives in other
// people's programs: no exceptions, no logging, no aborts, no C++ library.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#include "mpi/clocks/clocks.hpp"

using weft::clocks::Clock;
using weft::clocks::Teller;

namespace {

/// In memory of its own, which a child of any kind of fork finds empty: its readings are not its
/// parent's. Null: there is no such memory, and no teller.
Teller* the_teller = nullptr;

Teller teller() {
  const Teller* const place = __atomic_load_n(&the_teller, __ATOMIC_ACQUIRE);
  return place != nullptr ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : nullptr;
}

std::int64_t told(Clock clock, std::int64_t now) {
  const Teller tell = teller();
  return tell != nullptr ? tell(clock, now) : now;
}

Clock after(Clock clock, int places) {
  return static_cast<Clock>(static_cast<int>(clock) + places);
}

/// The function of that name behind this module. `place` keeps it.
template <class Function>
Function* next(Function*& place, const char* name) {
  Function* found = __atomic_load_n(&place, __ATOMIC_RELAXED);
  if (found == nullptr) {
    found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
    __atomic_store_n(&place, found, __ATOMIC_RELAXED);
  }
  return found;
}

constexpr std::int64_t ns_per_s = 1'000'000'000, us_per_s = 1'000'000;

timeval in_microseconds(std::int64_t us) {
  return {.tv_sec = us / us_per_s, .tv_usec = us % us_per_s};
}

[[gnu::constructor]] void loaded() {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const memory =
      ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  if (::madvise(memory, page, MADV_WIPEONFORK) != 0) return;
  __atomic_store_n(&the_teller, static_cast<Teller*>(memory), __ATOMIC_RELEASE);
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void weft_set_clock_teller(Teller teller) {
  if (the_teller != nullptr) __atomic_store_n(the_teller, teller, __ATOMIC_RELEASE);
}

[[gnu::visibility("default")]] int clock_gettime(clockid_t clock, timespec* at) noexcept {
  static decltype(clock_gettime)* place = nullptr;
  const int result = next(place, "clock_gettime")(clock, at);
  const bool is_known = clock >= 0 && clock < static_cast<int>(Clock::first_of_others);
  if (result != 0 || !is_known || teller() == nullptr) return result;
  const std::int64_t ns = told(static_cast<Clock>(clock), at->tv_sec * ns_per_s + at->tv_nsec);
  *at = {.tv_sec = ns / ns_per_s, .tv_nsec = ns % ns_per_s};
  return result;
}

[[gnu::visibility("default")]] int timespec_get(timespec* at, int base) noexcept {
  if (base != TIME_UTC) return 0;
  return clock_gettime(CLOCK_REALTIME, at) == 0 ? base : 0;
}

[[gnu::visibility("default")]] int gettimeofday(timeval* at, void* zone) noexcept {
  static int (*place)(timeval*, void*) = nullptr;
  const int result = next(place, "gettimeofday")(at, zone);
  if (result != 0 || teller() == nullptr) return result;
  *at = in_microseconds(told(Clock::time_of_day, at->tv_sec * us_per_s + at->tv_usec));
  return result;
}

[[gnu::visibility("default")]] time_t time(time_t* at) noexcept {
  static time_t (*place)(time_t*) = nullptr;
  const time_t now = told(Clock::time, next(place, "time")(nullptr));
  if (at != nullptr) *at = now;
  return now;
}

[[gnu::visibility("default")]] clock_t clock() noexcept {
  static clock_t (*place)() = nullptr;
  return told(Clock::processor, next(place, "clock")());
}

[[gnu::visibility("default")]] clock_t times(tms* used) noexcept {
  static clock_t (*place)(tms*) = nullptr;
  const clock_t now = next(place, "times")(used);
  if (now == -1 || teller() == nullptr) return now;
  if (used != nullptr) {
    used->tms_utime = told(Clock::times_user, used->tms_utime);
    used->tms_stime = told(Clock::times_system, used->tms_stime);
    used->tms_cutime = told(Clock::times_user_of_children, used->tms_cutime);
    used->tms_cstime = told(Clock::times_system_of_children, used->tms_cstime);
  }
  return told(Clock::times_elapsed, now);
}

// Lives differ in the numbers of faults and switches, too: nobody can do anything with those.
[[gnu::visibility("default")]] int getrusage(__rusage_who_t who, rusage* used) noexcept {
  static int (*place)(__rusage_who_t, rusage*) = nullptr;
  const int result = next(place, "getrusage")(who, used);
  if (result != 0 || teller() == nullptr) return result;
  const int whose = who == RUSAGE_SELF ? 0 : who == RUSAGE_CHILDREN ? 1 : 2;
  const Clock first = after(Clock::usage, whose * 3);
  const auto us = [](const timeval& t) { return t.tv_sec * us_per_s + t.tv_usec; };
  rusage seen{};
  seen.ru_utime = in_microseconds(told(first, us(used->ru_utime)));
  seen.ru_stime = in_microseconds(told(after(first, 1), us(used->ru_stime)));
  seen.ru_maxrss = told(after(first, 2), used->ru_maxrss);
  *used = seen;
  return result;
}

}  // extern "C"
