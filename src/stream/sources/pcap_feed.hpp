// SPDX-License-Identifier: Apache-2.0
// pcap: the packets of a capture, cut into microslices by time or by size.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "stream/sources/feed.hpp"
#include "stream/uri.hpp"
#include "weft/source.hpp"

namespace weft {

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
