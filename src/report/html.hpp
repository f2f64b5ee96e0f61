// SPDX-License-Identifier: Apache-2.0
// Escapes text that goes into an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace weft::report {

/// Escapes text for element content and for attribute values in double or single quotes. Control
/// characters that HTML forbids become spaces.
std::string html_escape(std::string_view text);

/// Escapes JSON for a <script type="application/json"> element: the result has no '<', '>' or '&',
/// so that no string in it can end the element, and parses to the same value.
std::string json_for_script(std::string_view json);

}  // namespace weft::report
