// SPDX-License-Identifier: Apache-2.0
// Amounts as people write them on the command line, in both directions. Every parser names the
// value it could not read and shows a form that it can.
#pragma once

#include <string>
#include <string_view>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// "64KiB", "1.5MiB", "4096", "100kB": binary and decimal prefixes; no unit means bytes.
Result<ByteCount> parse_byte_count(std::string_view text);
/// "20us", "1.5ms", "2s", "300ns", "1min"; a number without a unit is refused, except 0.
Result<Duration> parse_duration(std::string_view text);
/// "200Mbit", "10Gbit/s", "1.2GB/s", "125MB", "100MiB/s": bit, or byte with B. 0, or 1 B/s and
/// more.
Result<Bandwidth> parse_bandwidth(std::string_view text);
/// The same for 0, or `least` and more.
Result<Bandwidth> parse_bandwidth_from(Bandwidth least, std::string_view text);

/// Shortest readable form with at most four digits: "64 KiB", "1.5 MiB".
std::string to_text(ByteCount bytes);
/// "38.7 ms", "20 us".
std::string to_text(Duration duration);
/// Bytes per second, decimal: "11.9 MB/s".
std::string to_text(Bandwidth bandwidth);

}  // namespace weft
