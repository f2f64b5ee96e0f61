// SPDX-License-Identifier: Apache-2.0
#include "cli/seeds.hpp"

#include <string_view>

#include "base/make_error.hpp"
#include "base/number_text.hpp"

namespace weft::cli {

Result<Seeds> parse_seeds(const std::string& text) {
  const auto dots = text.find("..");
  const std::string_view all(text);
  const auto first = parse_number<std::uint64_t>(all.substr(0, dots));
  const auto last =
      dots == std::string::npos ? first : parse_number<std::uint64_t>(all.substr(dots + 2));
  if (!first || !last) {
    return invalid("'{}' is no range of seeds: write 1..1000", text);
  }
  if (*last < *first || *last == UINT64_MAX) {
    return invalid(
        "'{}' is no range of seeds: its last is before its first, or too large; write 1..1000",
        text);
  }
  return Seeds{.first = *first, .last = *last};
}

}  // namespace weft::cli
