// SPDX-License-Identifier: Apache-2.0
// Hosts as people list them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/result.hpp"

namespace weft::faults {

/// "host3", of a testbed with hosts 0 … hosts−1.
Result<std::uint32_t> parse_host(std::string_view text, std::uint32_t hosts);

/// "host0,host3-5" or "host0,host3-host5", in that order and each host once. Errors name the wrong
/// part and a right form, without the option's name.
Result<std::vector<std::uint32_t>> parse_hosts(std::string_view text, std::uint32_t hosts);

}  // namespace weft::faults
