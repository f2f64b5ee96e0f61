// SPDX-License-Identifier: Apache-2.0
// Values of a scenario's options, from their words.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "base/number_text.hpp"
#include "base/units.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::jobs {

/// Returns the error of a value that an option cannot have.
inline Error refuse(std::string text) {
  return Error{ErrorCode::invalid_argument, std::move(text)};
}

/// Reads all of `text` as a number. Errors: it is none, or `T` cannot hold it.
template <class T>
Result<T> number_of(const std::string& text) {
  if (const auto value = parse_number<T>(text)) return *value;
  if constexpr (std::is_integral_v<T>) {
    return refuse(fmt::format("it is no whole number from {} to {}; write one",
                              std::uint64_t{std::numeric_limits<T>::min()},
                              std::uint64_t{std::numeric_limits<T>::max()}));
  }
  return refuse("it is no number; write one");
}

/// Puts the value into `target`, or returns its error.
template <class T, class From>
Result<void> assign(T& target, const Result<From>& value) {
  if (!value) return value.error();
  target = *value;
  return {};
}

}  // namespace weft::jobs
