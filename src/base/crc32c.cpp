// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace weft {
namespace {

constexpr std::uint32_t polynomial = 0x82F63B78;  // 0x1EDC6F41, bits reversed

/// table[k][b]: the register after byte b and then k zero bytes, starting from zero.
using ByteTables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr ByteTables make_byte_tables() {
  ByteTables tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t r = b;
    for (int bit = 0; bit < 8; ++bit) r = (r >> 1) ^ ((r & 1) != 0 ? polynomial : 0);
    tables[0][b] = r;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t b = 0; b < 256; ++b) {
      const std::uint32_t r = tables[k - 1][b];
      tables[k][b] = (r >> 8) ^ tables[0][r & 0xFF];
    }
  }
  return tables;
}

constexpr ByteTables byte_tables = make_byte_tables();

std::uint64_t load_word(const std::byte* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

std::uint32_t run_table(std::uint32_t state, const std::byte* p, std::size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    const std::uint64_t word = load_word(p) ^ state;
    state = 0;
    for (std::size_t k = 0; k < 8; ++k) state ^= byte_tables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; n > 0; ++p, --n) {
    state = (state >> 8) ^ byte_tables[0][(state ^ static_cast<std::uint32_t>(*p)) & 0xFF];
  }
  return state;
}

#if defined(__x86_64__)

/// The register is linear over GF(2): running `zeros` zero bytes maps each of its bits to a fixed
/// word. Four look-ups apply that map, which is how independent parts are joined.
using ZeroRun = std::array<std::array<std::uint32_t, 256>, 4>;

constexpr ZeroRun make_zero_run(unsigned log2_zeros) {
  std::array<std::uint32_t, 32> map{};  // image of each bit under one zero byte
  for (std::size_t bit = 0; bit < 32; ++bit) {
    const std::uint32_t r = 1u << bit;
    map[bit] = (r >> 8) ^ byte_tables[0][r & 0xFF];
  }
  const auto apply = [](const std::array<std::uint32_t, 32>& m, std::uint32_t r) {
    std::uint32_t image = 0;
    for (std::size_t bit = 0; r != 0; ++bit, r >>= 1) image ^= (r & 1) != 0 ? m[bit] : 0;
    return image;
  };
  for (unsigned i = 0; i < log2_zeros; ++i) {
    std::array<std::uint32_t, 32> twice{};
    for (std::size_t bit = 0; bit < 32; ++bit) twice[bit] = apply(map, map[bit]);
    map = twice;
  }
  ZeroRun run{};
  for (std::size_t lane = 0; lane < 4; ++lane) {
    for (std::uint32_t b = 0; b < 256; ++b) run[lane][b] = apply(map, b << (8 * lane));
  }
  return run;
}

constexpr unsigned log2_large = 11;  // 2 KiB per part: three fit the first-level cache
constexpr unsigned log2_small = 8;
constexpr ZeroRun large_run = make_zero_run(log2_large);
constexpr ZeroRun small_run = make_zero_run(log2_small);

std::uint32_t run_zeros(const ZeroRun& run, std::uint32_t r) {
  return run[0][r & 0xFF] ^ run[1][(r >> 8) & 0xFF] ^ run[2][(r >> 16) & 0xFF] ^ run[3][r >> 24];
}

/// Three neighbouring parts at once: the instruction takes three cycles but one can start in each.
__attribute__((target("sse4.2"))) std::uint32_t run_three(std::uint32_t state, const std::byte* p,
                                                          std::size_t part, const ZeroRun& run) {
  std::uint64_t a = state, b = 0, c = 0;
  for (std::size_t i = 0; i < part; i += 8) {
    a = _mm_crc32_u64(a, load_word(p + i));
    b = _mm_crc32_u64(b, load_word(p + part + i));
    c = _mm_crc32_u64(c, load_word(p + 2 * part + i));
  }
  const auto joined = run_zeros(run, static_cast<std::uint32_t>(a)) ^ static_cast<std::uint32_t>(b);
  return run_zeros(run, joined) ^ static_cast<std::uint32_t>(c);
}

__attribute__((target("sse4.2"))) std::uint32_t run_hardware(std::uint32_t state,
                                                             const std::byte* p, std::size_t n) {
  constexpr std::size_t large = std::size_t{1} << log2_large;
  constexpr std::size_t small = std::size_t{1} << log2_small;
  for (; n >= 3 * large; p += 3 * large, n -= 3 * large)
    state = run_three(state, p, large, large_run);
  for (; n >= 3 * small; p += 3 * small, n -= 3 * small)
    state = run_three(state, p, small, small_run);
  std::uint64_t wide = state;
  for (; n >= 8; p += 8, n -= 8) wide = _mm_crc32_u64(wide, load_word(p));
  state = static_cast<std::uint32_t>(wide);
  for (; n > 0; ++p, --n) state = _mm_crc32_u8(state, static_cast<std::uint8_t>(*p));
  return state;
}

#endif

using Runner = std::uint32_t (*)(std::uint32_t, const std::byte*, std::size_t);

Runner choose_runner() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return run_hardware;
#endif
  return run_table;
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  static const Runner run = choose_runner();
  return ~run(~before, bytes.data(), bytes.size());
}

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) {
  return ~run_table(~before, bytes.data(), bytes.size());
}

}  // namespace weft
