// SPDX-License-Identifier: Apache-2.0
// Reads FLESnet archives (.tsa, .msa; plain or zstd) item by item, without Boost. Nothing in a file
// is trusted: every length is held against a limit and against the rest of the file before memory
// is taken, every component is checked to lie inside of itself.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/result.hpp"
#include "wire/archive/decoder.hpp"
#include "wire/archive/format.hpp"

namespace weft::wire {

/// The limits of a reader. Memory used is about one item, at most `item_bytes`.
struct ArchiveLimits {
  std::uint64_t item_bytes = std::uint64_t{2} << 30;
  std::uint32_t components = 65'536;
  std::uint32_t text_bytes = 4'096;  ///< host and user name
};

/// Movable; one thread at a time.
class ArchiveReader {
 public:
  /// Opens a file and reads its header. Errors name the file and the byte.
  static Result<ArchiveReader> open(const std::string& path, const ArchiveLimits& limits = {});
  /// The same from any input; `name` stands for it in errors.
  static Result<ArchiveReader> from(std::unique_ptr<ByteInput> input, std::string name,
                                    const ArchiveLimits& limits = {});

  /// The item versions in it are final once an item (with a component) has been read.
  const ArchiveFormat& format() const { return format_; }
  ArchiveType type() const { return format_.type; }
  const std::string& name() const { return decoder_.name(); }

  /// Reads the next item, true, or finds the end, false. After an error only the same error
  /// follows. The file format has no item count: an archive cut exactly between two items reads
  /// as a shorter one, unless it is compressed.
  Result<bool> next();
  /// Passes over the next item, seeking where possible; false at the end.
  Result<bool> skip();

  /// The item that `next` read; valid until the next call. Of the archive's type, or it aborts.
  const ArchivedMicroslice& microslice() const;
  const ArchivedTimeslice& timeslice() const;

  /// Items read or skipped so far.
  std::uint64_t items() const { return items_; }
  /// Whether the last error was that the archive ends inside of an item.
  bool is_cut_off() const { return decoder_.is_cut_off(); }
  /// Position in the (decompressed) data, bytes.
  std::uint64_t position() const { return decoder_.position(); }
  /// Bytes of the file before the first item, or before the compressed part.
  std::uint64_t header_bytes() const { return header_bytes_; }
  /// Uncompressed input of known size: bytes left of it.
  std::optional<std::uint64_t> remaining() const { return decoder_.remaining(); }

 private:
  /// Classes whose version is written before their first object, and only there.
  enum class Class { storable, item, data_list, descriptor_list, component, count };

  ArchiveReader(Decoder decoder, const ArchiveLimits& limits);

  Result<void> read_signature();
  void read_header();
  void read_archive_descriptor();
  std::string read_text(std::string_view what);
  /// Reads class info at the first occurrence; returns the version in force.
  std::uint32_t class_version(Class which, std::uint32_t newest, std::string_view name);
  std::uint32_t read_class_info(std::uint32_t newest, std::string_view name);
  Result<bool> read_item(bool contents);
  void read_microslice(bool contents);
  void read_timeslice(bool contents);
  TimesliceDescriptor read_timeslice_descriptor();
  void read_component_data(bool contents);
  void read_component_descriptors(bool contents);
  void check_components();
  void enter_compressed();

  Decoder decoder_;
  ArchiveLimits limits_;
  ArchiveFormat format_;
  std::vector<std::optional<std::uint32_t>> class_versions_;
  std::uint64_t header_bytes_ = 0;
  std::uint64_t items_ = 0;
  std::uint64_t item_start_ = 0;
  bool has_item_ = false;

  GrowingBuffer buffer_;
  ArchivedMicroslice microslice_;
  ArchivedTimeslice timeslice_;
  std::vector<ArchivedComponent> components_;
  std::vector<std::uint64_t> data_sizes_;
};

}  // namespace weft::wire
