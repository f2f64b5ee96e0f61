// SPDX-License-Identifier: Apache-2.0
// State of the process that the libfabric module lives in, shared by all its parts.
#pragma once

#include <sys/uio.h>

#include "emulate/control/emulated_process.hpp"

namespace weft::emulate::libfabric {

inline EmulatedProcess process = {nullptr, nullptr, 0, false};

// Utility providers open a domain of another provider within a call of ours: only the outermost
// layer is taken over.
inline thread_local unsigned depth __attribute__((tls_model("initial-exec"))) = 0;
struct Entered {
  Entered() { ++depth; }
  ~Entered() { --depth; }
  bool outermost() const { return depth == 1; }
};

/// The bytes of a message or write in pieces.
inline std::uint64_t total(const iovec* segments, std::size_t count) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) bytes += segments[i].iov_len;
  return bytes;
}

}  // namespace weft::emulate::libfabric
