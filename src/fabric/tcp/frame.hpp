// SPDX-License-Identifier: Apache-2.0
// The header in front of every frame on an established connection: 24 bytes, little-endian.
//
//   offset  size  field
//   0       4     length of what follows the header, bytes
//   4       1     type: 1 message, 2 write, 3 drain
//   5       3     zero
//   8       8     region key (write), else zero
//   16      8     offset in the region (write), else zero
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace weft::tcp {

enum class FrameType : std::uint8_t {
  message = 1,  ///< the payload is a message
  write = 2,    ///< the payload goes to a region
  drain = 3,    ///< the sender will send nothing more on this connection, which is to be closed
};

struct FrameHeader {
  FrameType type = FrameType::message;
  std::uint32_t length = 0;
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
};

inline constexpr std::size_t kHeaderSize = 24;
using HeaderBytes = std::array<std::byte, kHeaderSize>;

HeaderBytes encode(const FrameHeader& header);
/// Nothing when the bytes are no header that `encode` makes. Checks form only: whether the length
/// and the region are acceptable is the receiver's business.
std::optional<FrameHeader> decode_header(std::span<const std::byte, kHeaderSize> bytes);

}  // namespace weft::tcp
