// SPDX-License-Identifier: Apache-2.0
// The source of an archive's bytes: a file, memory, or a zstd stream inside one of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/result.hpp"

namespace weft::wire {

/// Bytes in order. One thread at a time. Errors carry no file name or position: the decoder, which
/// knows both, adds them.
class ByteInput {
 public:
  virtual ~ByteInput() = default;
  /// Fills `into` (not empty) from the front; returns how many bytes, 0 only at the end.
  virtual Result<std::size_t> read(std::span<std::byte> into) = 0;
  /// Bytes left, where that can be known without reading them.
  virtual std::optional<std::uint64_t> remaining() const { return std::nullopt; }
  /// Passes over up to `n` bytes without reading them and returns how many; 0 where only reading
  /// helps.
  virtual std::uint64_t skip(std::uint64_t n) {
    (void)n;
    return 0;
  }
  /// True after a `read` that failed because the input ends where it must not.
  virtual bool is_cut_off() const { return false; }
};

/// Opens a file, or anything else that can be read: a pipe, /dev/stdin.
Result<std::unique_ptr<ByteInput>> open_file_input(const std::string& path);

/// Reads caller-owned memory that outlives it.
std::unique_ptr<ByteInput> make_memory_input(std::span<const std::byte> bytes);

/// Decompresses `begin` followed by `rest`. Accepts any number of zstd frames; a frame that stops
/// early is an error. Memory is bounded by zstd's largest default window, 128 MiB.
std::unique_ptr<ByteInput> make_zstd_input(std::vector<std::byte> begin,
                                           std::unique_ptr<ByteInput> rest);

}  // namespace weft::wire
