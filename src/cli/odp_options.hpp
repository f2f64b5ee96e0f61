// SPDX-License-Identifier: Apache-2.0
// Options that `weft odp simulate` and `weft odp bench` share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/result.hpp"

namespace weft::cli {

/// "1.28ms" to the code of the next of the 32 delays of an RNR NAK.
Result<std::uint8_t> parse_rnr_delay(const std::string& text);

/// The name of a capture to be written, whose ending says the format: .pcap, .pcapng or .erf.
Result<std::string> parse_capture_name(const std::string& text);

/// Codes of a local ACK timeout, 1 to 31: "14", "1..8,12".
Result<std::vector<std::uint8_t>> parse_timeout_codes(const std::string& text);

}  // namespace weft::cli
