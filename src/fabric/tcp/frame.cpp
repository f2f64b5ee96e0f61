// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/frame.hpp"

#include "wire/codec.hpp"

namespace weft::tcp {

HeaderBytes encode(const FrameHeader& header) {
  HeaderBytes bytes;
  wire::Writer out(bytes);
  out.fields(header.length, static_cast<std::uint32_t>(header.type), header.key, header.offset);
  return bytes;
}

std::optional<FrameHeader> decode_header(std::span<const std::byte, kHeaderSize> bytes) {
  wire::Reader in(bytes);
  FrameHeader header;
  std::uint32_t type = 0;
  in.fields(header.length, type, header.key, header.offset);
  if (type < 1 || type > 3) return std::nullopt;
  header.type = static_cast<FrameType>(type);
  if (header.type != FrameType::write && (header.key != 0 || header.offset != 0)) {
    return std::nullopt;
  }
  if (header.type == FrameType::drain && header.length != 0) return std::nullopt;
  return header;
}

}  // namespace weft::tcp
