// SPDX-License-Identifier: Apache-2.0
// Errors whose message is composed as fmt::format composes text.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "weft/result.hpp"

namespace weft {

template <class... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return {code, fmt::format(format, std::forward<Args>(args)...)};
}

/// An option, a file or a message says something impossible.
template <class... Args>
Error invalid(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::invalid_argument, format, std::forward<Args>(args)...);
}

/// Bytes do not decode, or their checksum differs.
template <class... Args>
Error corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::corrupt, format, std::forward<Args>(args)...);
}

}  // namespace weft
