// SPDX-License-Identifier: Apache-2.0
// Any bytes as a log of outcomes: reading them ends, and a record that is read has one form only.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/determinant/outcome_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::determinant;
  std::span<const std::byte> left(reinterpret_cast<const std::byte*>(data), size);
  Differences reading, writing;
  Record record;
  std::vector<std::byte> again;
  while (const std::size_t n = read(left, reading, record)) {
    again.resize(most_bytes(record.places.size()));
    if (write(record, writing, again.data()) != n) std::abort();
    if (std::memcmp(again.data(), left.data(), n) != 0) std::abort();
    left = left.subspan(n);
  }
  // The same bytes as the memory of a log: header and all.
  std::vector<std::uint64_t> memory((size + 7) / 8 + 8);
  if (size > 0) std::memcpy(memory.data(), data, size);
  OutcomeLog log(std::as_writable_bytes(std::span(memory)));
  for (int i = 0; i < 1000 && log.replays(); ++i) (void)log.replay(Kind::some, true);
  return 0;
}
