// SPDX-License-Identifier: Apache-2.0
#include "runtime/membership/life.hpp"

#include <cerrno>
#include <cstdint>

namespace weft {
namespace {

constexpr std::int64_t start_of_2025 = 1'735'689'600;
constexpr std::int64_t per_second = 10;
constexpr std::int64_t nanoseconds = 1'000'000'000 / per_second;

}  // namespace

Incarnation incarnation_at(timespec time) {
  const std::int64_t tenths =
      (time.tv_sec - start_of_2025) * per_second + time.tv_nsec / nanoseconds;
  return Incarnation(
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(tenths, 1, UINT32_MAX - 1)));
}

Incarnation incarnation_now() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return incarnation_at(now);
}

void wait_for(Incarnation incarnation) {
  const timespec until{.tv_sec = start_of_2025 + incarnation.value() / per_second,
                       .tv_nsec = incarnation.value() % per_second * nanoseconds};
  while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, nullptr) == EINTR) {
  }
}

}  // namespace weft
