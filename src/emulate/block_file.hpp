// SPDX-License-Identifier: Apache-2.0
// BlockFile: the control block of one run, from its making to its removal.
#pragma once

#include <string>

#include "emulate/control/control_block.hpp"
#include "weft/result.hpp"

namespace weft::emulate {

/// Makes a block that only this user can open, its clock measured, its knobs native. It is no file:
/// its path leads to this process's memory, and nothing stays when that ends, however it ends.
/// Processes that have it mapped keep it.
class BlockFile {
 public:
  static Result<BlockFile> make();
  BlockFile(BlockFile&& other) noexcept;
  BlockFile& operator=(BlockFile&&) = delete;
  ~BlockFile();

  const std::string& path() const { return path_; }
  ControlBlock& operator*() const { return *block_; }
  ControlBlock* operator->() const { return block_; }

 private:
  BlockFile(int file, std::string path, ControlBlock* block)
      : file_(file), path_(std::move(path)), block_(block) {}

  int file_;
  std::string path_;
  ControlBlock* block_;
};

}  // namespace weft::emulate
