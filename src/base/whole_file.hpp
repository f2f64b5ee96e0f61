// SPDX-License-Identifier: Apache-2.0
// WholeFile: a file that appears whole or not at all, however large: it is written beside its place
// and moved there at the end. Readers see the old file or the new one, a full disk leaves the old.
#pragma once

#include <string>
#include <string_view>

#include "weft/result.hpp"

namespace weft {

/// One thread. Destroying it before `commit` leaves nothing behind, and neither does a process that
/// is killed, where the file system has files without a name (O_TMPFILE: ext4, xfs, btrfs, tmpfs).
/// Elsewhere such a process leaves PATH.PID.partial.
class WholeFile {
 public:
  /// Errors: no place for it; something is there that is no ordinary file, such as a device.
  static Result<WholeFile> create(std::string path);
  WholeFile(WholeFile&& other) noexcept;
  WholeFile& operator=(WholeFile&&) = delete;
  ~WholeFile();

  /// Collected, and written in large pieces. After an error everything fails the same way.
  Result<void> write(std::string_view text);
  /// Writes the collected bytes to disk, and moves the file to its place. Once, last.
  Result<void> commit();
  const std::string& path() const { return path_; }

 private:
  WholeFile(std::string path, std::string temporary, bool is_named, int descriptor);
  Result<void> flush();

  std::string path_;
  std::string temporary_;
  bool is_named_;  // temporary_ is there
  int descriptor_;
  std::string collected_;
  Result<void> state_;
};

}  // namespace weft
