// SPDX-License-Identifier: Apache-2.0
#include "net/link_shape.hpp"

#include "base/make_error.hpp"
#include "base/units.hpp"

namespace weft {
namespace {

constexpr auto kSlowest = Bandwidth::bytes_per_second(1'000);
constexpr Duration kLongest = Duration::seconds(10);

Error refused(std::string_view option, std::string_view text, std::string_view why) {
  return invalid("{} '{}': {}; write RATE or RATE,LATENCY like 200Mbit,20us", option, text, why);
}

}  // namespace

Result<LinkShape> parse_link_shape(std::string_view option, std::string_view text) {
  const auto comma = text.find(',');
  const auto rate = parse_bandwidth_from(kSlowest, text.substr(0, comma));
  if (!rate.ok()) return refused(option, text, rate.error().message);
  if (*rate == Bandwidth{} && text.substr(0, comma) != "0") {
    return refused(option, text, "the rate is 0; write 0 without a unit for no limit");
  }
  if (comma == std::string_view::npos) return LinkShape{*rate, Duration{}};
  const auto latency = parse_duration(text.substr(comma + 1));
  if (!latency.ok()) return refused(option, text, latency.error().message);
  if (*latency > kLongest) return refused(option, text, "the latency is above 10 s");
  return LinkShape{*rate, *latency};
}

}  // namespace weft
