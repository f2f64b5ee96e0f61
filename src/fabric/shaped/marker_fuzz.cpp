// SPDX-License-Identifier: Apache-2.0
// A header that decodes must encode to the same bytes.
#include <cstdlib>
#include <cstring>

#include "fabric/shaped/marker.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::shaped;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto marker = decode_marker(bytes);
  if (!marker) return 0;
  MarkerBytes again;
  encode(*marker, again);
  if (std::memcmp(again.data(), data, again.size()) != 0) std::abort();
  return 0;
}
