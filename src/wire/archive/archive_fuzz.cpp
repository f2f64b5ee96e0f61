// SPDX-License-Identifier: Apache-2.0
// Any bytes as an archive: reads and skips, and touches everything the reader hands out.
#include <cstdint>
#include <cstdlib>

#include "wire/archive/component.hpp"
#include "wire/archive/reader.hpp"

namespace {

using weft::wire::ArchiveReader;
using weft::wire::ArchiveType;
using weft::wire::ComponentReader;

std::uint64_t sum(std::span<const std::byte> bytes) {
  std::uint64_t total = 0;
  for (const std::byte b : bytes) total += static_cast<std::uint64_t>(b);
  return total;
}

std::uint64_t touch(const ArchiveReader& reader) {
  if (reader.type() == ArchiveType::microslices) return sum(reader.microslice().content);
  std::uint64_t total = 0;
  for (const auto& component : reader.timeslice().components) {
    const auto parts = ComponentReader::open(component.data, component.descriptor.num_microslices);
    if (!parts) std::abort();  // the reader has promised that it opens
    for (std::uint64_t m = 0; m < parts->num_microslices(); ++m) {
      total += sum(parts->microslice(m).content);
    }
  }
  return total;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const bool skip : {false, true}) {
    auto reader =
        ArchiveReader::from(weft::wire::make_memory_input(bytes), "fuzz", {.item_bytes = 1 << 20});
    if (!reader) return 0;
    volatile std::uint64_t used = 0;
    for (int items = 0; items < 10'000; ++items) {
      const auto more = skip && items % 2 == 1 ? reader->skip() : reader->next();
      if (!more || !*more) break;
      if (!skip) used = used + touch(*reader);
    }
  }
  return 0;
}
