// SPDX-License-Identifier: Apache-2.0
// Values of a scenario's options, from their words.
#pragma once

#include <charconv>
#include <string>
#include <utility>

#include "base/units.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::jobs {

inline Error refuse(std::string text) {
  return Error{ErrorCode::invalid_argument, std::move(text)};
}

template <class T>
Result<T> number_of(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return refuse("it is not a number in range; write one");
  }
  return value;
}

template <class T, class From>
Result<void> assign(T& target, const Result<From>& value) {
  if (!value) return value.error();
  target = *value;
  return {};
}

}  // namespace weft::jobs
