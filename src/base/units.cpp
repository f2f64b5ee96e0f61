// SPDX-License-Identifier: Apache-2.0
#include "base/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "base/make_error.hpp"

namespace weft {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

/// Splits "12.5MiB" and looks the unit up; nothing when number or unit are not understood, or when
/// the amount is negative. One that is too large for a double is infinite; one that is too small is
/// the least above 0.
std::optional<double> parse_amount(std::string_view text, std::span<const Unit> units) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error == std::errc::result_out_of_range) {
    const bool is_tiny = text.substr(0, digits).find("e-") != std::string_view::npos;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double least = std::numeric_limits<double>::min();
    number = is_tiny ? least : text.starts_with('-') ? -infinity : infinity;
  } else if (error != std::errc{} || !std::isfinite(number)) {
    return std::nullopt;
  }
  if (number < 0) return std::nullopt;
  std::string_view unit = text.substr(digits);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (unit.empty() && number == 0) return 0.0;
  for (const auto& [name, factor] : units) {
    if (unit == name) return number * factor;
  }
  return std::nullopt;
}

constexpr std::array<Unit, 15> byte_units{{{"", 1},
                                           {"B", 1},
                                           {"kB", 1e3},
                                           {"KB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"TB", 1e12},
                                           {"KiB", 0x1p10},
                                           {"MiB", 0x1p20},
                                           {"GiB", 0x1p30},
                                           {"TiB", 0x1p40},
                                           {"k", 0x1p10},
                                           {"K", 0x1p10},
                                           {"M", 0x1p20},
                                           {"G", 0x1p30}}};
constexpr std::array<Unit, 7> time_units{
    {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}};
constexpr std::array<Unit, 16> rate_units{{{"bit", 0.125},
                                           {"kbit", 125},
                                           {"Kbit", 125},
                                           {"Mbit", 125e3},
                                           {"Gbit", 125e6},
                                           {"Tbit", 125e9},
                                           {"bps", 0.125},
                                           {"Mbps", 125e3},
                                           {"Gbps", 125e6},
                                           {"B", 1},
                                           {"kB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"KiB", 0x1p10},
                                           {"MiB", 0x1p20},
                                           {"GiB", 0x1p30}}};

Error not_understood(std::string_view what, std::string_view text, std::string_view example) {
  return invalid("'{}' is not a {}: write it like {}", text, what, example);
}

/// Of bytes, or bytes per second: 63 bits hold it, and the limits that errors name.
constexpr double most = 9.2e18;

Error too_large(std::string_view text, std::string_view limit) {
  return invalid("'{}' is too large: write at most {}", text, limit);
}

std::string scaled(double value, double step, std::span<const std::string_view> names) {
  std::size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < names.size()) {
    value /= step;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, names[unit]);
}

}  // namespace

Result<ByteCount> parse_byte_count(std::string_view text) {
  const auto amount = parse_amount(text, byte_units);
  if (!amount) return not_understood("size", text, "64KiB or 1000000");
  if (*amount > most) return too_large(text, "8000000TiB");
  return ByteCount(static_cast<std::uint64_t>(*amount));
}

Result<Duration> parse_duration(std::string_view text) {
  const auto amount = parse_amount(text, time_units);
  if (!amount) return not_understood("duration", text, "20us, 1.5ms, 10s, 2min or 1h");
  // Times are counted in 63 bits: sums and small multiples of a user's values must fit.
  constexpr double ten_years_ns = 10 * 365.25 * 86'400e9;
  if (*amount > ten_years_ns) {
    return invalid("'{}' is longer than ten years; write less", text);
  }
  return Duration(static_cast<std::int64_t>(*amount));
}

Result<Bandwidth> parse_bandwidth(std::string_view text) {
  // Rounded to 0 it would mean no limit to callers that know such a thing.
  return parse_bandwidth_from(Bandwidth::bytes_per_second(1), text);
}

Result<Bandwidth> parse_bandwidth_from(Bandwidth least, std::string_view text) {
  std::string_view rate = text;
  if (rate.ends_with("/s")) rate.remove_suffix(2);
  const auto amount = parse_amount(rate, rate_units);
  if (!amount) return not_understood("bandwidth", text, "200Mbit, 10Gbit or 1.2GB/s");
  if (*amount > most) return too_large(text, "8000000000GB/s");
  if (*amount > 0 && *amount < static_cast<double>(least.bytes_per_second())) {
    const std::uint64_t bits = least.bits_per_second();
    return invalid(
        "'{}' is too slow: write at least {}", text,
        bits % 1000 == 0 ? fmt::format("{}kbit/s", bits / 1000) : fmt::format("{}bit/s", bits));
  }
  return Bandwidth::bytes_per_second(static_cast<std::uint64_t>(*amount));
}

std::string to_text(ByteCount bytes) {
  static constexpr std::array<std::string_view, 7> names{"B",   "KiB", "MiB", "GiB",
                                                         "TiB", "PiB", "EiB"};
  return scaled(static_cast<double>(bytes.value()), 1024, names);
}

std::string to_text(Duration duration) {
  static constexpr std::array<std::string_view, 4> names{"ns", "us", "ms", "s"};
  return scaled(static_cast<double>(duration.ticks()), 1000, names);
}

std::string to_text(Bandwidth bandwidth) {
  static constexpr std::array<std::string_view, 7> names{"B/s",  "kB/s", "MB/s", "GB/s",
                                                         "TB/s", "PB/s", "EB/s"};
  return scaled(static_cast<double>(bandwidth.bytes_per_second()), 1000, names);
}

}  // namespace weft
