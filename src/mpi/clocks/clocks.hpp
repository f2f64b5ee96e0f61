// SPDX-License-Identifier: Apache-2.0
// What a module that is loaded into a program, and answers for the C library's clocks, and weft's
// MPI in the same process know of each other.
#pragma once

#include <cstdint>

namespace weft::clocks {

/// The clocks that a program may read: those of clock_gettime(2) by their number, and these.
enum class Clock : std::uint8_t {
  first_of_others = 16,
  time = first_of_others,  ///< s
  time_of_day,             ///< us
  processor,               ///< of clock(3)
  times_elapsed,           ///< of times(2), and its four others:
  times_user,
  times_system,
  times_user_of_children,
  times_system_of_children,
  /// Of getrusage(2): for this process, its children and this thread, in this order, user time and
  /// system time in us and the largest memory.
  usage,
  end = usage + 9,
};
inline constexpr std::size_t clocks = static_cast<std::size_t>(Clock::end);

/// Returns what the program shall see of a clock that shows `now`.
using Teller = std::int64_t (*)(Clock clock, std::int64_t now);

/// The function of the module with which MPI's library gives it a teller, or null for none; a
/// process that is forked has none.
using SetTeller = void(Teller teller);
inline constexpr const char* set_teller = "weft_set_clock_teller";

}  // namespace weft::clocks
