// SPDX-License-Identifier: Apache-2.0
// Records of outcomes that a program cannot foresee, as bytes (docs/formats.md, "Log of outcomes").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::determinant {

enum class Kind : std::uint8_t {
  misses = 1,   ///< `value` questions in a row found nothing
  yes = 2,      ///< all requests asked about were done
  some = 3,     ///< these requests, by their places in the question, were done
  message = 4,  ///< a probe found a message from `source` with `tag`
  match = 5,    ///< receive number `value` took a message from `source`
  cancel = 6,   ///< `value` is the number of the receive that was cancelled
  kept = 7,     ///< a receive was to be cancelled, and had taken a message
  time = 8,     ///< the clock, in ns: `value`
  number = 9,   ///< what something that is done once gave: `value`
  clock = 10,   ///< the C library's clock number `source` showed `value`
};
/// Numbers of clocks are below this.
inline constexpr std::uint32_t most_clocks = 64;

struct Record {
  Kind kind = Kind::misses;
  std::uint64_t value = 0;
  std::uint32_t source = 0;
  std::int32_t tag = 0;
  std::vector<std::uint32_t> places;  ///< ascending
};

/// Times, what each clock showed, and numbers of receives are stored as differences to those of the
/// record before.
struct Differences {
  std::uint64_t time = 0;
  std::uint64_t number = 0;
  std::array<std::uint64_t, most_clocks> clocks{};
};

/// Most bytes that `write` needs for a record of so many places.
constexpr std::size_t most_bytes(std::size_t places) {
  return 24 + 5 * places;
}

/// Writes the record to `to`, which has room for `most_bytes`. Returns the bytes written.
std::size_t write(const Record& record, Differences& before, std::byte* to);
/// Reads the first record. Returns the bytes read; 0: they are no record. No bytes beyond `from`
/// are read, and no more memory is taken than a few times `from`.
std::size_t read(std::span<const std::byte> from, Differences& before, Record& record);

}  // namespace weft::determinant
