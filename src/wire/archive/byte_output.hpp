// SPDX-License-Identifier: Apache-2.0
// The destination of an archive's bytes: a file that appears under its name only when it is
// complete, and zstd on the way there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/existing_file.hpp"
#include "weft/result.hpp"

struct ZSTD_CCtx_s;

namespace weft::wire {

/// Writes to PATH.part-WRITER and renames it on `finish`; a destroyed or failed one leaves nothing
/// behind unless `keep_unfinished` was called, one whose process is killed leaves that file. It
/// holds a lock (flock) on the file meanwhile. An existing path that is no ordinary file
/// (/dev/stdout, a pipe) is written directly. One thread at a time. After the first error every
/// call returns it.
class FileOutput {
 public:
  /// Errors: an ordinary file has the name already and `existing` refuses it, now or at `finish`.
  /// An empty `writer` stands for the process's number.
  static Result<std::unique_ptr<FileOutput>> create(std::string path,
                                                    Existing existing = Existing::refuse,
                                                    std::string_view writer = {});
  /// Stands between PATH and WRITER.
  static constexpr std::string_view unfinished_infix = ".part-";
  /// The path of the unfinished file.
  static std::string unfinished(const std::string& path, std::string_view writer);
  /// Writes directly to an open descriptor, which it closes; `name` stands for it in errors.
  static std::unique_ptr<FileOutput> adopt(int descriptor, std::string name);
  ~FileOutput();
  FileOutput(const FileOutput&) = delete;
  FileOutput& operator=(const FileOutput&) = delete;

  Result<void> write(std::span<const std::byte> bytes);
  /// Writes out the buffered bytes: they stay in the file if the process is killed.
  Result<void> flush();
  /// Writes out the buffered bytes, closes and renames.
  Result<void> finish();
  /// From now on the unfinished file stays, without bytes that are not flushed, when the output
  /// fails or is destroyed.
  void keep_unfinished() { keeps_unfinished_ = true; }
  /// Closes, and leaves the unfinished file to others, without bytes that are not flushed.
  void leave();
  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  FileOutput(std::string path, std::string temporary, int descriptor, Existing existing);
  Result<void> write_through(std::span<const std::byte> bytes);
  Result<void> give_up(int number);
  void abandon();
  void remove_unfinished();

  std::string path_;
  std::string temporary_;  ///< empty: written directly
  int descriptor_;
  Existing existing_;
  bool keeps_unfinished_ = false;
  std::vector<std::byte> buffer_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<Error> error_;
};

/// Compresses into a FileOutput that outlives it.
class ZstdOutput {
 public:
  /// `level` as zstd counts them, 1 (fast) to 19.
  ZstdOutput(FileOutput& file, int level);
  ~ZstdOutput();
  ZstdOutput(const ZstdOutput&) = delete;
  ZstdOutput& operator=(const ZstdOutput&) = delete;

  Result<void> write(std::span<const std::byte> bytes);
  /// Passes on all that was written, so that a reader of the file so far can decompress it.
  Result<void> flush();
  /// Ends the stream. The file is finished by its owner.
  Result<void> finish();

 private:
  Result<void> run(std::span<const std::byte> bytes, int directive);

  FileOutput& file_;
  ZSTD_CCtx_s* context_;
  std::vector<std::byte> compressed_;
};

}  // namespace weft::wire
