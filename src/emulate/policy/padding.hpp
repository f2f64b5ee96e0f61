// SPDX-License-Identifier: Apache-2.0
// PaddingDebt: the bytes without meaning that go ahead of a sender's own and take their share of
// the interconnect away, as paper 3 emulates bandwidth. For comparison with SharedLink.
#pragma once

#include <cstdint>

namespace weft::emulate {

/// Bytes of padding for each byte of a message, times 2³².
using PaddingRatio = std::uint64_t;

/// Small messages' padding is put off until there is as much as this, so that their latency does
/// not change (paper 3, section 3).
inline constexpr std::uint64_t kPaddingThreshold = 64 * 1'024;

/// The padding that one sender owes one peer. All zero owes nothing. Not thread-safe.
class PaddingDebt {
 public:
  void owe(std::uint64_t bytes, PaddingRatio ratio) {
    __extension__ using Wide = unsigned __int128;
    const Wide parts = Wide{bytes} * ratio + fraction_;
    bytes_ += static_cast<std::uint64_t>(parts >> 32U);
    fraction_ = static_cast<std::uint32_t>(parts);
  }
  /// Bytes that have to go out now; 0: those owed can wait.
  std::uint64_t due() const { return bytes_ >= kPaddingThreshold ? bytes_ : 0; }
  /// `bytes` bytes have gone out, at most as many as were owed.
  void paid(std::uint64_t bytes) { bytes_ -= bytes; }

 private:
  std::uint64_t bytes_ = 0;
  std::uint32_t fraction_ = 0;  // of a byte, times 2³²
};

}  // namespace weft::emulate
