// SPDX-License-Identifier: Apache-2.0
// BlockFile: the control block of one run, from its making to its removal.
#pragma once

#include <string>

#include "emulate/control/control_block.hpp"
#include "weft/result.hpp"

namespace weft::emulate {

/// Makes a block in /dev/shm that only this user can read, its clock measured, its knobs native;
/// removes it when destroyed. Processes that have it mapped keep it.
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
  BlockFile(std::string path, ControlBlock* block) : path_(std::move(path)), block_(block) {}

  std::string path_;
  ControlBlock* block_;
};

}  // namespace weft::emulate
