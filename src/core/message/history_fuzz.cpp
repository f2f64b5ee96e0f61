// SPDX-License-Identifier: Apache-2.0
// Any bytes as a history: reading them ends, with all of it in bounds. The checksum is put right
// first: it would keep all else out.
#include <cstdlib>
#include <cstring>

#include "base/crc32c.hpp"
#include "core/message/history.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::byte> bytes(size);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  const std::uint32_t checksum = weft::crc32c(bytes);
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(checksum >> 8 * i));
  const auto history = weft::message::decode_history(bytes);
  if (!history) return 0;
  // A history that decodes must encode to the same bytes.
  if (weft::message::encode(*history) != bytes) std::abort();
  return 0;
}
