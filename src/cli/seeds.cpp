// SPDX-License-Identifier: Apache-2.0
#include "cli/seeds.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace weft::cli {

Result<Seeds> parse_seeds(const std::string& text) {
  const auto dots = text.find("..");
  const std::string_view all(text);
  const auto number = [](std::string_view digits, std::uint64_t& value) {
    const auto* end = digits.data() + digits.size();
    const auto read = std::from_chars(digits.data(), end, value);
    return read.ec == std::errc() && read.ptr == end;
  };
  Seeds seeds;
  const std::string_view first = all.substr(0, dots);
  const std::string_view last = dots == std::string::npos ? first : all.substr(dots + 2);
  if (!number(first, seeds.first) || !number(last, seeds.last)) {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("'{}' is no range of seeds: write 1..1000", text)};
  }
  if (seeds.last < seeds.first || seeds.last == UINT64_MAX) {
    return Error{
        ErrorCode::invalid_argument,
        fmt::format(
            "'{}' is no range of seeds: its last is before its first, or too large; write 1..1000",
            text)};
  }
  return seeds;
}

}  // namespace weft::cli
