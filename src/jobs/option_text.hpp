// SPDX-License-Identifier: Apache-2.0
// Values of a scenario's options, from their words.
#pragma once

#include <string>
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
  return refuse("it is not a number in range; write one");
}

/// Puts the value into `target`, or returns its error.
template <class T, class From>
Result<void> assign(T& target, const Result<From>& value) {
  if (!value) return value.error();
  target = *value;
  return {};
}

}  // namespace weft::jobs
