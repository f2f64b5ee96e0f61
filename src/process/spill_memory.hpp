// SPDX-License-Identifier: Apache-2.0
// SpillMemory: memory for kept messages, on the heap up to a limit and in a mapped file beyond it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "core/message/body_pool.hpp"
#include "process/large_blocks.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"

namespace weft {

/// One thread. The file has no name and ends with the process.
class SpillMemory final : public message::BodyMemory {
 public:
  /// Without `directory` there is no file, so nothing beyond the limit. Errors: an unwritable
  /// directory.
  static Result<std::unique_ptr<SpillMemory>> open(ByteCount on_heap, const std::string& directory);
  ~SpillMemory() override;

  std::byte* allocate(std::size_t bytes) override;
  void free(std::byte* memory, std::size_t bytes) override;
  /// With a file that has small bodies, too: a mapping for each would be too many.
  std::size_t piece() const override { return file_ >= 0 ? std::size_t{256} << 10 : 0; }

  ByteCount on_heap() const { return ByteCount(used_); }
  ByteCount in_file() const { return ByteCount(spilled_); }

 private:
  explicit SpillMemory(ByteCount on_heap) : limit_(on_heap.value()) {}
  std::byte* spill(std::size_t bytes);

  std::uint64_t limit_;
  LargeBlocks blocks_;
  std::uint64_t used_ = 0;
  std::uint64_t spilled_ = 0;
  int file_ = -1;
  std::uint64_t file_end_ = 0;
  std::unordered_map<std::byte*, std::uint64_t> mapped_;  // with offset in the file
};

}  // namespace weft
