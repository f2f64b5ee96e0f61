// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/pattern.hpp"

#include <array>
#include <cstring>

#include "base/check.hpp"
#include "base/make_error.hpp"

namespace weft {
namespace {

constexpr std::uint64_t golden_ratio = 0x9E37'79B9'7F4A'7C15;

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EB;
  return x ^ (x >> 31);
}

/// The words of a fill: word j is the key plus j golden ratios, its high bits folded into its low
/// ones. Additions only, four words at a time, so that compilers use vector registers.
class Words {
 public:
  static constexpr std::size_t block_bytes = 32;
  using Block = std::array<std::uint64_t, 4>;

  explicit Words(const PatternIdentity& identity) {
    const std::uint64_t key =
        mix(mix(mix(mix(identity.seed + golden_ratio) + identity.channel) + identity.sequence) +
            identity.timeslice);
    for (std::size_t lane = 0; lane < 4; ++lane) state_[lane] = key + lane * golden_ratio;
  }
  Block next() {
    Block block;
    for (std::size_t lane = 0; lane < 4; ++lane) {
      block[lane] = state_[lane] ^ (state_[lane] >> 29);
      state_[lane] += 4 * golden_ratio;
    }
    return block;
  }

 private:
  Block state_;
};

/// Offset of the first byte that differs from the fill, or the size.
std::size_t first_difference(Words words, std::span<const std::byte> fill) {
  std::size_t at = 0;
  for (; fill.size() - at >= Words::block_bytes; at += Words::block_bytes) {
    const Words::Block expected = words.next();
    Words::Block found;
    std::memcpy(&found, fill.data() + at, sizeof found);
    std::uint64_t difference = 0;
    for (std::size_t lane = 0; lane < 4; ++lane) difference |= expected[lane] ^ found[lane];
    if (difference != 0) {
      while (std::memcmp(fill.data() + at,
                         reinterpret_cast<const std::byte*>(&expected) + at % Words::block_bytes,
                         1) == 0) {
        ++at;
      }
      return at;
    }
  }
  const Words::Block last = words.next();
  for (std::size_t i = 0; at < fill.size(); ++at, ++i) {
    if (std::memcmp(fill.data() + at, reinterpret_cast<const std::byte*>(&last) + i, 1) != 0) {
      return at;
    }
  }
  return fill.size();
}

Error differs(std::string_view what, std::uint64_t found, std::uint64_t expected) {
  return corrupt("pattern of {} {}, expected {}", what, found, expected);
}

}  // namespace

void write_pattern(const PatternIdentity& identity, bool fill, std::span<std::byte> content) {
  WEFT_CHECK(content.size() >= sizeof(PatternHeader));
  const PatternHeader header{.magic = pattern_magic,
                             .seed = identity.seed,
                             .timeslice = identity.timeslice,
                             .sequence = identity.sequence,
                             .channel = identity.channel,
                             .size = static_cast<std::uint32_t>(content.size()),
                             .flags = fill ? pattern_filled : 0};
  std::memcpy(content.data(), &header, sizeof header);
  if (!fill) return;
  Words words(identity);
  std::span<std::byte> left = content.subspan(sizeof header);
  for (; left.size() >= Words::block_bytes; left = left.subspan(Words::block_bytes)) {
    const Words::Block block = words.next();
    std::memcpy(left.data(), &block, sizeof block);
  }
  const Words::Block last = words.next();
  if (!left.empty()) std::memcpy(left.data(), &last, left.size());
}

bool is_pattern(std::span<const std::byte> content) {
  return content.size() >= sizeof pattern_magic &&
         std::memcmp(content.data(), &pattern_magic, sizeof pattern_magic) == 0;
}

Result<void> verify_pattern(const PatternIdentity& expected, std::span<const std::byte> content) {
  if (content.size() < sizeof(PatternHeader) || !is_pattern(content)) {
    return corrupt("content of {} bytes does not start as a pattern", content.size());
  }
  PatternHeader header;
  std::memcpy(&header, content.data(), sizeof header);
  if (header.seed != expected.seed) return differs("seed", header.seed, expected.seed);
  if (header.channel != expected.channel) {
    return differs("channel", header.channel, expected.channel);
  }
  if (header.sequence != expected.sequence) {
    return differs("sequence", header.sequence, expected.sequence);
  }
  if (header.timeslice != expected.timeslice) {
    return differs("timeslice", header.timeslice, expected.timeslice);
  }
  if (header.size != content.size()) return differs("size", header.size, content.size());
  if (header.flags > pattern_filled) return differs("flags", header.flags, pattern_filled);
  if (header.flags != pattern_filled) return {};
  const auto fill = content.subspan(sizeof header);
  const std::size_t at = first_difference(Words(expected), fill);
  if (at == fill.size()) return {};
  return corrupt("pattern differs from byte {} on", at + sizeof header);
}

}  // namespace weft
