// SPDX-License-Identifier: Apache-2.0
// Reads numbers from text, in the same way in every locale.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <system_error>

namespace weft {

/// Reads all of `text` as a decimal number, with a sign only if it is '-' and `T` is signed.
/// Returns nothing when `text` is empty, has other characters, or when the number does not fit.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

/// Reads an environment variable in the same way. Returns nothing when it is not set.
template <class T = std::uint32_t>
std::optional<T> environment_number(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? std::nullopt : parse_number<T>(text);
}

}  // namespace weft
