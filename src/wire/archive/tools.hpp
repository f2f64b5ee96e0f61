// SPDX-License-Identifier: Apache-2.0
// The tools of `weft archive`: look into archives, check them, cut pieces out, put several
// together. Everything streams; memory is about one item per archive that is open.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/existing_file.hpp"
#include "weft/result.hpp"
#include "wire/archive/format.hpp"

namespace weft::wire {

/// How far a long run has come.
struct ArchiveProgress {
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;                   ///< read so far, decompressed
  std::optional<std::uint64_t> total_bytes;  ///< of all inputs; not known of compressed ones
};
/// Called after each item; cheap calls are the callee's concern. False ends the run with
/// ErrorCode::cancelled, and nothing of its output is left. May be empty.
using ProgressCallback = std::function<bool(const ArchiveProgress&)>;

/// One component of the timeslices, or all of a microslice archive.
struct ChannelContents {
  std::uint8_t system_id = 0;       ///< of the first microslice
  std::uint8_t system_version = 0;  ///< of the first microslice
  std::uint16_t equipment_id = 0;   ///< of the first microslice
  std::uint64_t microslices = 0;    ///< overlap included
  std::uint64_t bytes = 0;          ///< of contents
  std::uint64_t missing = 0;        ///< timeslices in which it has no microslice
};

/// The contents of an archive.
struct ArchiveContents {
  ArchiveFormat format;
  std::uint64_t file_bytes = 0;
  std::uint64_t items = 0;
  std::uint64_t microslices = 0;   ///< overlap included
  std::uint64_t bytes = 0;         ///< of contents
  std::uint64_t first_index = 0;   ///< of timeslices, or start times of microslices; lowest
  std::uint64_t last_index = 0;    ///< highest
  std::uint64_t out_of_order = 0;  ///< items whose index is not above that of the item before
  std::uint64_t incomplete = 0;    ///< timeslices flagged as missing something
  std::vector<ChannelContents> channels;

  std::uint64_t crc_checked = 0;  ///< microslices whose CRC-32C was compared
  std::uint64_t crc_wrong = 0;    ///< of these, the wrong ones
  std::string first_wrong;        ///< position of the first wrong one
};

/// Reads all of an archive. With `check_crc` it compares every CRC-32C that microslices carry;
/// wrong ones are counted. Errors are those of opening and decoding.
Result<ArchiveContents> inspect_archive(const std::string& path, bool check_crc,
                                        const ProgressCallback& progress = {});

/// The output of the tools below: a file that is none of those they read (code invalid_argument),
/// and that appears when it is complete.
struct ArchiveTarget {
  std::string path;
  Existing existing = Existing::refuse;
};

/// Writes items `from`, `from`+1, … of an archive, `count` at most, to `out`, in the same format:
/// versions, compression, time, host and user stay. Returns how many were written. A `count` of 0
/// is an error.
Result<std::uint64_t> cut_archive(const std::string& in, const ArchiveTarget& out,
                                  std::uint64_t from, std::uint64_t count,
                                  const ProgressCallback& progress = {});

/// How a new archive is compressed.
struct CompressionChoice {
  ArchiveCompression compression = ArchiveCompression::none;
  int zstd_level = 1;  ///< 1 (fast) to 19
};

struct MergeResult {
  std::uint64_t items = 0;
  std::uint64_t repeated = 0;      ///< items whose index the item before had too; they are kept
  std::uint64_t out_of_order = 0;  ///< items below the one before: an input was not in order
  std::uint64_t left_over = 0;     ///< microslices that filled no timeslice
};

/// Merges archives of one type into one, ordered by index: those of several compute nodes, say.
/// Each input is expected to be in order itself.
Result<MergeResult> merge_archives(std::span<const std::string> inputs, const ArchiveTarget& out,
                                   CompressionChoice compression,
                                   const ProgressCallback& progress = {});

/// Builds timeslices of `microslices_per_timeslice` ≥ 1, without overlap: component i is made of
/// the i-th microslice archive. Ends with the shortest input.
Result<MergeResult> merge_components(std::span<const std::string> inputs, const ArchiveTarget& out,
                                     std::uint32_t microslices_per_timeslice,
                                     CompressionChoice compression,
                                     const ProgressCallback& progress = {});

}  // namespace weft::wire
