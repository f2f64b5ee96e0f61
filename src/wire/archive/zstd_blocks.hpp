// SPDX-License-Identifier: Apache-2.0
// The blocks of a zstd frame in a file, for a frame that stops early: where its writer flushed it,
// and the bytes that end it there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::wire {

/// The end of a block: what comes before decompresses without what follows.
struct ZstdFlush {
  std::uint64_t in_file = 0;       ///< the byte behind the block
  std::uint64_t decompressed = 0;  ///< bytes of the frame's contents up to there
};

/// The ends of the whole blocks of the frame that begins at the file's byte `begin`, ascending,
/// one for each length of contents. The last block of a frame is left out: nothing may follow it.
std::vector<ZstdFlush> find_flushes(int descriptor, std::uint64_t begin);

/// The bytes that end the frame behind that block: an empty last block, and the checksum of the
/// contents if the frame promises one.
std::vector<std::byte> ending_of_stream(int descriptor, std::uint64_t begin,
                                        const ZstdFlush& flush);

}  // namespace weft::wire
