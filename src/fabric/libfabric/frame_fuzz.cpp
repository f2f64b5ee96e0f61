// SPDX-License-Identifier: Apache-2.0
// Any bytes: decoding stays inside of them, and a decoded frame encodes to the same bytes.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fabric/libfabric/frame.hpp"

namespace {

template <class Decoded>
void check_same(const Decoded& decoded, std::span<const std::byte> payload) {
  std::vector<std::byte> again(1024);
  const std::size_t size = weft::ofi::encode(decoded, again);
  if (size != payload.size() || std::memcmp(again.data(), payload.data(), size) != 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::ofi;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto hello = decode_hello(bytes)) check_same(*hello, bytes);
  if (const auto welcome = decode_welcome(bytes)) check_same(*welcome, bytes);
  (void)decode_region_key(bytes);
  (void)decode_region_grant(bytes);
  const auto frame = decode_frame(bytes);
  if (!frame) return 0;
  std::vector<std::byte> header(sizeof(FrameHeader));
  encode_header(frame->header, header);
  if (std::memcmp(header.data(), data, header.size()) != 0) std::abort();
  return 0;
}
