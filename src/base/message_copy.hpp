// SPDX-License-Identifier: Apache-2.0
// MessageCopy: the bytes of a message that has to wait after its sender got its memory back.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace weft {

/// Keeps its memory for the next message as long as that is small. One thread at a time.
class MessageCopy {
 public:
  /// Copies `segments` one behind the other. The copy is valid until the next `take` or `clear`.
  template <class Segments>
  std::span<const std::byte> take(const Segments& segments) {
    bytes_.clear();
    for (const std::span<const std::byte> segment : segments) {
      bytes_.insert(bytes_.end(), segment.begin(), segment.end());
    }
    return bytes_;
  }
  /// A large copy's memory goes back to the system.
  void clear() {
    if (bytes_.capacity() > kept_bytes) bytes_ = {};
  }

 private:
  static constexpr std::size_t kept_bytes = 4096;

  std::vector<std::byte> bytes_;
};

}  // namespace weft
