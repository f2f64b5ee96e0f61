// SPDX-License-Identifier: Apache-2.0
// Any bytes as another rank's partitioning: reading them ends, with all of it in its space. The
// first byte chooses the space, and the number of ranks.
#include <cstdlib>
#include <cstring>

#include "spmd/partitioning_message.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::spmd;
  if (size == 0) return 0;
  const Space spaces[] = {Space(1), Space(1000), Space(9, 7), Space(4, 5, 6)};
  const Space& space = spaces[data[0] % 4];
  const std::uint32_t ranks = 1 + data[0] / 4 % 16;
  std::vector<std::byte> bytes(size - 1);
  if (size > 1) std::memcpy(bytes.data(), data + 1, size - 1);
  const auto read = decode_partitioning(bytes, space, ranks);
  if (!read) return 0;
  if (read->ranks() != ranks) std::abort();
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (const Slice& slice : read->slices(weft::Rank(r))) {
      if (slice.box.is_empty() || !space.box().contains(slice.box)) std::abort();
    }
  }
  // The decoder puts a partitioning in order; encoding it again changes nothing.
  const auto again = decode_partitioning(encode(*read), space, ranks);
  if (!again || encode(*again) != encode(*read)) std::abort();
  return 0;
}
