// SPDX-License-Identifier: Apache-2.0
// Any bytes as a packet capture, cut by time and by size.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "stream/sources/feeds.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  for (const weft::PacketCut cut : {weft::PacketCut{1'000'000, 0}, weft::PacketCut{0, 64}}) {
    std::FILE* const stream = fmemopen(const_cast<std::uint8_t*>(data), size, "rb");
    if (!stream) return 0;
    auto feed = weft::make_pcap_feed(stream, cut, {.input = 1, .inputs = 2});
    if (!feed) return 0;
    std::vector<std::byte> content;
    for (int n = 0; n < 1'000; ++n) {
      const auto next = (*feed)->peek();
      if (!next || !*next) break;
      content.resize((*next)->size);
      if (!(*feed)->take(content)) std::abort();
    }
  }
  return 0;
}
