// SPDX-License-Identifier: Apache-2.0
// Writes FLESnet archives (.tsa, .msa; plain or zstd), byte for byte as FLESnet writes them for the
// same items and the same ArchiveFormat.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "weft/result.hpp"
#include "weft/timeslice.hpp"
#include "wire/archive/byte_output.hpp"
#include "wire/archive/format.hpp"

namespace weft::wire {

/// One thread at a time. The file appears under its name with `finish`; a writer destroyed before
/// leaves nothing. After the first error every call returns it.
class ArchiveWriter {
 public:
  /// `zstd_level` counts when the format says zstd: 1 (fast) to 19. Errors: as FileOutput::create.
  static Result<std::unique_ptr<ArchiveWriter>> create(std::string path, ArchiveFormat format,
                                                       int zstd_level = 1,
                                                       Existing existing = Existing::refuse);
  /// The same into an output that is open already.
  static Result<std::unique_ptr<ArchiveWriter>> create(std::unique_ptr<FileOutput> output,
                                                       ArchiveFormat format, int zstd_level = 1);

  /// The archive must be of the item's type. `content` has the size that the descriptor says.
  Result<void> write(const MicrosliceDescriptor& descriptor, std::span<const std::byte> content);
  Result<void> write(const ArchivedTimeslice& timeslice);
  /// Flags that are weft's own are left out; component offsets become 0.
  Result<void> write(const TimesliceView& timeslice);
  /// All items so far stay in the file if the process is killed.
  Result<void> flush();
  Result<void> finish();
  /// As FileOutput::keep_unfinished.
  void keep_unfinished() { file_->keep_unfinished(); }
  /// As FileOutput::leave.
  void leave() { file_->leave(); }

  const ArchiveFormat& format() const { return format_; }
  const std::string& path() const { return file_->path(); }
  std::uint64_t items() const { return items_; }
  /// Bytes of the file so far (compressed if it is; bytes that zstd holds back are not counted).
  std::uint64_t bytes() const { return file_->bytes(); }

 private:
  ArchiveWriter(std::unique_ptr<FileOutput> file, ArchiveFormat format, int zstd_level);

  class Fields;
  Result<void> write_header();
  Result<void> put(std::span<const std::byte> bytes);
  Result<void> put_component_descriptors(const ArchivedTimeslice& timeslice);

  ArchiveFormat format_;
  std::unique_ptr<FileOutput> file_;
  std::unique_ptr<ZstdOutput> zstd_;
  bool item_class_written_ = false;
  bool component_class_written_ = false;
  std::uint64_t items_ = 0;
  std::vector<ArchivedComponent> components_;
};

}  // namespace weft::wire
