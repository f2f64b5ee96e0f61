// SPDX-License-Identifier: Apache-2.0
// Remembers which of the most recent indices were seen, in a fixed amount of memory.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

/// One bit per index over a window that slides upward with the highest index seen.
class SeenWindow {
 public:
  enum class Answer : std::uint8_t {
    fresh,    ///< not seen before; it is now
    seen,     ///< seen before
    too_old,  ///< below the window: nobody knows any more
  };

  /// `size` is a multiple of 64.
  explicit SeenWindow(std::uint64_t size = 1 << 20) : bits_(size / 64), size_(size) {}

  Answer see(std::uint64_t index);

 private:
  std::vector<std::uint64_t> bits_;
  std::uint64_t size_;
  std::uint64_t begin_ = 0;  ///< lowest index of the window
  bool empty_ = true;
};

}  // namespace weft
