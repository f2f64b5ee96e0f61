// SPDX-License-Identifier: Apache-2.0
// Any bytes on the control socket: a decoded message is in range and encodes to the same bytes.
#include <algorithm>
#include <array>
#include <cstdint>

#include "base/check.hpp"
#include "stream/shm/protocol.hpp"

namespace {

using namespace weft;

template <class Message>
void check_same(const Message& message, std::span<const std::byte> bytes) {
  std::array<std::byte, shm::max_message> again;
  const std::size_t size = shm::encode(message, again);
  WEFT_CHECK(std::equal(bytes.begin(), bytes.end(), again.begin(),
                        again.begin() + static_cast<std::ptrdiff_t>(size)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (size <= shm::max_message) {
    if (const auto m = shm::decode_from_consumer(bytes)) check_same(*m, bytes);
    if (const auto m = shm::decode_from_sink(bytes)) check_same(*m, bytes);
  }
  if (const auto header = shm::read_header(bytes)) {
    for (std::uint32_t i = 0; i < header->components; ++i) {
      const auto piece = shm::read_entry(bytes, i).piece();
      if (shm::plausible(piece)) WEFT_CHECK(piece.position + piece.size <= 2 * piece.ring_size);
    }
  }
  return 0;
}
