// SPDX-License-Identifier: Apache-2.0
// The feeds of sources, by the schemes of their URIs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "stream/sources/feed.hpp"
#include "stream/uri.hpp"
#include "weft/source.hpp"

namespace weft {

/// Error: the path names no ordinary file, but a pipe or the like, and what was read of it is gone.
Result<void> can_be_read_again(const std::string& path);

// pattern: microslices of chosen sizes whose content verifies (see pattern.hpp).

/// Keys: size, sizes (constant, uniform, poisson, or a file with one size per line), hit, duration,
/// count, fill, and loop and stride, which it handles itself.
Result<std::unique_ptr<MicrosliceFeed>> make_pattern_feed(const Uri& uri, const SourcePlace& place);

// file: any file, or every file below a directory, cut into pieces (see pieces.hpp).

/// Keys: cut, and loop and stride, which it handles itself. With %i in the path each input reads
/// its own file; without, the pieces of one are dealt to all inputs in turn. All inputs yield the
/// same number of microslices, a multiple of a timeslice's; the surplus is empty.
Result<std::unique_ptr<MicrosliceFeed>> make_file_feed(const Uri& uri, const SourcePlace& place);

// msa: and tsa: the microslices of FLESnet archives.

/// For both schemes. %i in the path is the input's index; %s counts files 0000, 0001, … of one
/// recording, as the tsa: sink writes them. Of a timeslice archive, input i gets the core
/// microslices of component i; if a component misses some that others have, empty ones flagged
/// data_error stand for them, so that the inputs keep in step.
Result<std::unique_ptr<MicrosliceFeed>> make_archive_feed(const Uri& uri, const SourcePlace& place);

// pcap: the packets of a capture, cut into microslices by time or by size.

#pragma pack(push, 1)
/// Before each packet in a microslice's content.
struct PacketHeader {
  std::uint64_t time = 0;      ///< nanoseconds since 1970
  std::uint32_t captured = 0;  ///< bytes that follow
  std::uint32_t original = 0;  ///< bytes that were on the wire
};
#pragma pack(pop)
static_assert(sizeof(PacketHeader) == 16);

/// The rule for cutting: one of the two is not zero.
struct PacketCut {
  std::uint64_t time_ns = 0;  ///< microslice n holds the packets of [start + n·time, + time)
  std::uint64_t bytes = 0;    ///< as many packets as fit, at least one
};

/// Keys: cut (a time or a size). With %i in the path each input reads its own capture; without,
/// packet k goes to input k mod inputs.
Result<std::unique_ptr<MicrosliceFeed>> make_pcap_feed(const Uri& uri, const SourcePlace& place);

/// The same from an open stream, which it closes; it cannot rewind. For tests and fuzzing.
Result<std::unique_ptr<MicrosliceFeed>> make_pcap_feed(std::FILE* stream, PacketCut cut,
                                                       const SourcePlace& place);

}  // namespace weft
