// SPDX-License-Identifier: Apache-2.0
#include "cli/odp_options.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/split.hpp"
#include "base/units.hpp"
#include "wire/capture/infiniband.hpp"

namespace weft::cli {
namespace {

std::optional<std::uint8_t> code_in(std::string_view text) {
  constexpr std::uint8_t longest = 31;
  const auto code = parse_number<std::uint8_t>(text);
  return code && *code >= 1 && *code <= longest ? code : std::nullopt;
}

}  // namespace

Result<std::uint8_t> parse_rnr_delay(const std::string& text) {
  const auto delay = parse_duration(text);
  if (!delay) return delay.error();
  const auto code = delay->ticks() >= 0 ? wire::rnr_code_of(delay->ticks()) : std::nullopt;
  if (code) return *code;
  return invalid("'{}' is no delay of an RNR NAK: give 10us to 655.36ms", text);
}

Result<std::string> parse_capture_name(const std::string& text) {
  for (const char* ending : {".pcap", ".pcapng", ".erf"}) {
    if (text.ends_with(ending)) return text;
  }
  return invalid("'{}' names no format; end the file's name with .pcap, .pcapng or .erf", text);
}

Result<std::vector<std::uint8_t>> parse_timeout_codes(const std::string& text) {
  std::vector<std::uint8_t> codes;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dots = part.find("..");
    const auto first = code_in(part.substr(0, dots));
    const auto last = dots == std::string_view::npos ? first : code_in(part.substr(dots + 2));
    if (!first || !last || *first > *last) {
      return invalid("'{}' are no codes of a local ACK timeout: give 1 to 31, as 14 or 1..8,12",
                     text);
    }
    for (std::uint32_t code = *first; code <= *last; ++code) {
      if (std::find(codes.begin(), codes.end(), code) != codes.end()) {
        return invalid("'{}' has code {} twice; leave one out", text, code);
      }
      codes.push_back(static_cast<std::uint8_t>(code));
    }
  }
  return codes;
}

}  // namespace weft::cli
