// SPDX-License-Identifier: Apache-2.0
// Any bytes as a capture, whose frames are read as RDMA packets.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "wire/capture/capture_reader.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::FILE* const stream = fmemopen(const_cast<std::uint8_t*>(data), size, "rb");
  if (!stream) return 0;
  auto reader = weft::wire::CaptureReader::open(stream, "capture");
  if (!reader) return 0;
  weft::wire::CapturedFrame frame;
  for (std::uint64_t n = 1;; ++n) {
    const auto more = reader->next(frame);
    if (!more || !*more) return 0;
    if (frame.number != n) std::abort();
    const auto read = weft::wire::read_frame(frame.link, frame.bytes, frame.original, true);
    if (read && read->packet.bth.psn > weft::wire::psn_mask) std::abort();
  }
}
