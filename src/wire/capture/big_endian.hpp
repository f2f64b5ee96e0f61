// SPDX-License-Identifier: Apache-2.0
// Numbers in network byte order. Readers check lengths before they read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/check.hpp"

namespace weft::wire {

inline std::uint16_t get_u16(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(bytes[at]) << 8 |
                                    static_cast<unsigned>(bytes[at + 1]));
}
inline std::uint32_t get_u32(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint32_t>(get_u16(bytes, at)) << 16 | get_u16(bytes, at + 2);
}
inline std::uint64_t get_u64(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint64_t>(get_u32(bytes, at)) << 32 | get_u32(bytes, at + 4);
}

/// Appends to a caller's buffer. Overflow is a programmer error and aborts.
class BigEndianWriter {
 public:
  explicit BigEndianWriter(std::span<std::byte> out) : out_(out) {}
  void u8(std::uint8_t value) {
    WEFT_CHECK(used_ < out_.size());
    out_[used_++] = static_cast<std::byte>(value);
  }
  void u16(std::uint16_t value) {
    u8(static_cast<std::uint8_t>(value >> 8));
    u8(static_cast<std::uint8_t>(value));
  }
  void u32(std::uint32_t value) {
    u16(static_cast<std::uint16_t>(value >> 16));
    u16(static_cast<std::uint16_t>(value));
  }
  void u64(std::uint64_t value) {
    u32(static_cast<std::uint32_t>(value >> 32));
    u32(static_cast<std::uint32_t>(value));
  }
  void bytes(std::span<const std::byte> values) {
    for (const std::byte b : values) u8(static_cast<std::uint8_t>(b));
  }
  std::size_t size() const { return used_; }

 private:
  std::span<std::byte> out_;
  std::size_t used_ = 0;
};

}  // namespace weft::wire
