// SPDX-License-Identifier: Apache-2.0
// LinkShape: the properties that one direction of a link is given, and their notation.
#pragma once

#include <string_view>

#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// One direction of a link.
struct LinkShape {
  Bandwidth rate{};    ///< zero: not limited
  Duration latency{};  ///< added to each message; ≥ 0
};

/// Reads "200Mbit,20us" or "200Mbit": a rate of 0 (not limited) or at least 8kbit/s, and a latency
/// of at most 10 s. Errors name `option` and show a form that works.
Result<LinkShape> parse_link_shape(std::string_view option, std::string_view text);

}  // namespace weft
