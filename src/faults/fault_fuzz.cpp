// SPDX-License-Identifier: Apache-2.0
// Any text is a fault or one line that says why not.
#include <cstdlib>

#include "faults/fault.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto fault = weft::faults::parse_fault(text, 16);
  if (fault.ok() && weft::faults::to_text(*fault).empty()) std::abort();
  return 0;
}
