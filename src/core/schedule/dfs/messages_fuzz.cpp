// SPDX-License-Identifier: Apache-2.0
// Any bytes through the decoder, and on into both engines: nothing may crash, and decoded messages
// must encode to the same bytes again.
#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <variant>

#include "core/schedule/dfs/dfs.hpp"
#include "core/schedule/dfs/messages.hpp"

namespace {

using namespace weft;
using namespace weft::schedule;

void check_round_trip(std::span<const std::byte> bytes) {
  std::visit(
      [&](const auto& decoded) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(decoded)>, std::monostate>) {
          Message again;
          dfs::encode(decoded, again);
          if (!std::equal(bytes.begin(), bytes.end(), again.bytes.begin(),
                          again.bytes.begin() + again.size)) {
            std::abort();
          }
        }
      },
      dfs::decode(bytes));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  DfsOptions options;
  options.timeslices_per_interval = 8;
  const RoundGrid grid{.first = TimesliceIndex(0), .computes = 4};
  const auto input = make_dfs_input(options, 0, 2, 4);
  const auto compute = make_dfs_compute(options, 0, 2, false);
  input->on_grid(Instant(0), grid);
  compute->on_grid(Instant(0), grid, 0);
  MessageBox box(64);
  // The first byte of each piece is its length; pieces go to both engines in turn.
  for (std::size_t at = 0; at < size;) {
    const std::size_t length = std::min<std::size_t>(data[at], size - at - 1);
    const auto piece = bytes.subspan(at + 1, length);
    const Instant now(static_cast<std::int64_t>(at) * 1'000);
    check_round_trip(piece);
    input->on_message(now, 0, piece);
    compute->on_message(now, static_cast<std::uint32_t>(at % 3), piece);
    compute->write_messages(now, box);
    for (const Message& m : box.view()) check_round_trip({m.bytes.data(), m.size});
    box.clear();
    at += 1 + length;
  }
  return 0;
}
