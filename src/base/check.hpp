// SPDX-License-Identifier: Apache-2.0
// Always-on checks for programmer errors: a failed one prints where and why, and aborts.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace weft {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               std::string_view message);

}  // namespace weft

/// WEFT_CHECK(condition) or WEFT_CHECK(condition, "format {}", value): in every build type.
#define WEFT_CHECK(condition, ...)                                                 \
  do {                                                                             \
    if (!(condition)) [[unlikely]] {                                               \
      ::weft::check_failed(__FILE__, __LINE__, #condition,                         \
                           std::string() __VA_OPT__(+::fmt::format(__VA_ARGS__))); \
    }                                                                              \
  } while (false)
