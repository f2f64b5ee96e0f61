// SPDX-License-Identifier: Apache-2.0
// A frame that decodes must encode to the same bytes.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "fabric/mpi/frame.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto frame = weft::mpi::decode(bytes);
  if (!frame) return 0;
  std::array<std::byte, weft::mpi::longest_header> header;
  const std::size_t length = weft::mpi::encode(*frame, header);
  if (length + frame->body.size() != size) std::abort();
  if (!std::ranges::equal(std::span(header).first(length), bytes.first(length))) std::abort();
  return 0;
}
