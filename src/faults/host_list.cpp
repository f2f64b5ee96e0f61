// SPDX-License-Identifier: Apache-2.0
#include "faults/host_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/split.hpp"

namespace weft::faults {
namespace {

Error not_a_host(std::string_view text, std::uint32_t hosts) {
  const std::string range = hosts == 1 ? "host0" : fmt::format("host0 to host{}", hosts - 1);
  return invalid("'{}' is not one of {}", text, range);
}

}  // namespace

Result<std::uint32_t> parse_host(std::string_view text, std::uint32_t hosts) {
  if (!text.starts_with("host")) return not_a_host(text, hosts);
  const auto host = parse_number<std::uint32_t>(text.substr(4));
  if (!host || *host >= hosts) return not_a_host(text, hosts);
  return *host;
}

Result<std::vector<std::uint32_t>> parse_hosts(std::string_view text, std::uint32_t hosts) {
  std::vector<std::uint32_t> list;
  for (const std::string_view part : split(text, ',')) {
    const auto dash = part.find('-');
    const auto first = parse_host(part.substr(0, dash), hosts);
    if (!first.ok()) return first.error();
    auto last = first;
    if (dash != std::string_view::npos) {
      const std::string tail(part.substr(dash + 1));
      last = parse_host(tail.starts_with("host") ? tail : "host" + tail, hosts);
      if (!last.ok()) return last.error();
    }
    if (*last < *first) {
      return invalid("'{}' runs backwards; write host{}-{}", part, *last, *first);
    }
    for (std::uint32_t host = *first; host <= *last; ++host) {
      if (std::ranges::find(list, host) != list.end()) {
        return invalid("host{} is listed twice", host);
      }
      list.push_back(host);
    }
  }
  return list;
}

}  // namespace weft::faults
