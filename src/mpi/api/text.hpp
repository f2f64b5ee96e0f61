// SPDX-License-Identifier: Apache-2.0
// Text that MPI writes into the caller's memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace weft::mpi {

/// Writes as much of the text as `room` bytes at `to` hold with the zero that ends it; `room` is 1
/// or more. Sets `length` to the number of bytes before that zero.
inline void copy_text(std::string_view text, std::size_t room, char* to, int* length) {
  const std::size_t n = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), n);
  to[n] = '\0';
  *length = static_cast<int>(n);
}

}  // namespace weft::mpi
