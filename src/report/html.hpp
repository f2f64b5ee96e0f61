// SPDX-License-Identifier: Apache-2.0
// Text from outside made safe inside an HTML page.
#pragma once

#include <string>
#include <string_view>

namespace weft::report {

/// For element content and for attribute values in double or single quotes. Control characters
/// that HTML forbids become spaces.
std::string html_escape(std::string_view text);

/// JSON for a <script type="application/json"> element: no '<', '>' or '&' is left in it, so that
/// nothing in a string can end the element. Reads back to the same value.
std::string json_for_script(std::string_view json);

}  // namespace weft::report
