// SPDX-License-Identifier: Apache-2.0
// Always-on checks for programmer errors: a failed one prints where and why, and aborts.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace weft {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view message = {});
/// Apart from the checking function, so that its frame needs no room for formatting.
template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void check_failed_with(const char* file, int line,
                                                              const char* condition,
                                                              fmt::format_string<Args...> format,
                                                              Args... args) {
  check_failed(file, line, condition, fmt::format(format, std::move(args)...));
}
inline void check_failed_with(const char* file, int line, const char* condition) {
  check_failed(file, line, condition);
}

}  // namespace weft

/// WEFT_CHECK(condition) or WEFT_CHECK(condition, "format {}", value): in every build type.
#define WEFT_CHECK(condition, ...)                                                          \
  do {                                                                                      \
    if (!(condition)) [[unlikely]] {                                                        \
      ::weft::check_failed_with(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                       \
  } while (false)
