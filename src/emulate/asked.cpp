// SPDX-License-Identifier: Apache-2.0
#include "base/make_error.hpp"
#include "base/number_text.hpp"
#include "base/units.hpp"
#include "emulate/run.hpp"

namespace weft::emulate {
namespace {

Error refused(std::string_view option, std::string_view text, std::string_view why,
              std::string_view form) {
  return invalid("{} '{}': {}; write {}", option, text, why, form);
}

}  // namespace

Result<LatencyAsked> parse_latency(std::string_view option, std::string_view text) {
  constexpr std::string_view kForm = "+2us (on top of the native latency) or =5us (in all)";
  LatencyAsked asked{.in_all = text.starts_with('='), .value = {}};
  const bool has_sign = text.starts_with('=') || text.starts_with('+');
  const auto value = parse_duration(text.substr(has_sign ? 1 : 0));
  if (!value) return refused(option, text, value.error().message, kForm);
  if (*value == Duration{} && text.find_first_of("123456789") != std::string_view::npos) {
    return refused(option, text, "the latency is below a nanosecond", kForm);
  }
  if (*value > kLongestLatency) return refused(option, text, "the latency is above 10 s", kForm);
  asked.value = *value;
  return asked;
}

Result<BandwidthAsked> parse_emulated_bandwidth(std::string_view option, std::string_view text) {
  constexpr std::string_view kForm = "50% (of the calibrated bandwidth) or 100MB/s";
  if (text.ends_with('%')) {
    const auto percent = parse_number<double>(text.substr(0, text.size() - 1));
    if (!percent || !(*percent > 0) || *percent > 100) {
      return refused(option, text, "the percentage is not above 0 and at most 100", kForm);
    }
    return BandwidthAsked{.fraction = *percent / 100, .rate = {}};
  }
  constexpr auto kSlowest = Bandwidth::bytes_per_second(static_cast<std::uint64_t>(kSlowestRate));
  const auto rate = parse_bandwidth_from(kSlowest, text);
  if (!rate) return refused(option, text, rate.error().message, kForm);
  if (*rate == Bandwidth{}) return refused(option, text, "the rate is 0", kForm);
  const auto bytes_per_s = static_cast<double>(rate->bytes_per_second());
  if (bytes_per_s > kFastestRate) return refused(option, text, "the rate is above 1 TB/s", kForm);
  return BandwidthAsked{.fraction = {}, .rate = *rate};
}

}  // namespace weft::emulate
