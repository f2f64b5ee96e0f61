// SPDX-License-Identifier: Apache-2.0
// Any bytes as the components of timeslices: the check must never look outside of them.
#include <cstdint>
#include <cstring>
#include <vector>

#include "stream/sinks/check_sink.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::CheckSink sink({.inputs = 2, .microslices_per_timeslice = 2, .seed = 1});
  auto left = std::as_bytes(std::span(data, size));
  // Each timeslice: index, flags, and per component flags, number of microslices and bytes.
  while (left.size() >= 10) {
    weft::TimesliceView timeslice;
    timeslice.index = weft::TimesliceIndex(static_cast<std::uint64_t>(left[0]) << (data[0] % 57));
    timeslice.flags = static_cast<std::uint32_t>(left[1]);
    timeslice.num_core_microslices = 2;
    std::vector<weft::ComponentView> components(2);
    auto header = left.subspan(2, 8);
    left = left.subspan(10);
    // A copy per component of exactly its size, so that any step outside is seen.
    std::vector<std::vector<std::byte>> memory(2);
    for (std::size_t c = 0; c < 2; ++c) {
      components[c].flags = static_cast<std::uint32_t>(header[0]);
      components[c].num_microslices = static_cast<std::uint64_t>(header[1]);
      const std::size_t bytes =
          std::min<std::size_t>(left.size(), static_cast<std::size_t>(header[2]) +
                                                 256 * (static_cast<std::size_t>(header[3]) % 4));
      memory[c].assign(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(bytes));
      left = left.subspan(bytes);
      components[c].data = memory[c];
      header = header.subspan(4);
    }
    timeslice.components = components;
    if (!sink.consume(timeslice)) return 1;
  }
  return 0;
}
