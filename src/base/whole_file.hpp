// SPDX-License-Identifier: Apache-2.0
// WholeFile: a file that appears whole or not at all, however large. It is written beside its place
// and moved there at the end. Readers see the old file or the new one, and a full disk leaves the
// old one.
#pragma once

#include <string>
#include <string_view>

#include "base/existing_file.hpp"
#include "weft/result.hpp"

namespace weft {

/// One thread. Destroying it before `commit` leaves nothing behind, and neither does a process that
/// is killed, where the file system has files without a name (O_TMPFILE: ext4, xfs, btrfs, tmpfs).
/// Elsewhere such a process leaves PATH.PID.partial.
class WholeFile {
 public:
  /// Begins a new file that `commit` moves to `path`. Errors: its directory cannot take a file; at
  /// `path` is something that is no ordinary file, such as a device, or a file that `existing`
  /// refuses to replace.
  static Result<WholeFile> create(std::string path, Existing existing = Existing::replace);
  WholeFile(WholeFile&& other) noexcept;
  WholeFile& operator=(WholeFile&&) = delete;
  ~WholeFile();

  /// Appends the text, which it writes to disk in large pieces. After an error all further calls
  /// return that error.
  Result<void> write(std::string_view text);
  /// Writes the rest to disk, and moves the file to its place. The caller calls it once, and
  /// nothing after it but `path`. Errors: those of the disk; meanwhile somebody made a file of that
  /// name, and `existing` refuses to replace it.
  Result<void> commit();
  const std::string& path() const { return path_; }

 private:
  WholeFile(std::string path, std::string temporary, bool is_named, int descriptor,
            Existing existing);
  Result<void> flush();

  std::string path_;
  std::string temporary_;
  bool is_named_;  // temporary_ is there
  int descriptor_;
  Existing existing_;
  std::string collected_;
  Result<void> state_;
};

}  // namespace weft
