// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/zstd_blocks.hpp"

#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>
#include <span>

#include "base/check.hpp"

namespace weft::wire {
namespace {

using Bytes = std::span<const std::byte>;

/// Bytes of the file from `at` on: `size`, or those that there are.
std::vector<std::byte> read_at(int descriptor, std::uint64_t at, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::size_t got = 0;
  while (got < size) {
    const ssize_t n =
        ::pread(descriptor, bytes.data() + got, size - got, static_cast<off_t>(at + got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

constexpr std::size_t magic_bytes = 4;
constexpr std::size_t checksum_bytes = 4;
constexpr std::size_t block_header_bytes = 3;

/// RFC 8878, 3.1.1.1: the byte behind the magic number says what follows it.
struct FrameHeader {
  std::size_t bytes = 0;
  bool has_checksum = false;
};

std::optional<FrameHeader> read_frame_header(int descriptor, std::uint64_t begin) {
  const auto start = read_at(descriptor, begin, magic_bytes + 1);
  constexpr std::array magic{std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}};
  if (start.size() <= magic_bytes || !std::equal(magic.begin(), magic.end(), start.begin())) {
    return std::nullopt;
  }
  const auto flags = std::to_integer<unsigned>(start[magic_bytes]);
  const bool is_single_segment = (flags & 0x20) != 0;
  constexpr std::array<std::size_t, 4> dictionary_bytes{0, 1, 2, 4};
  constexpr std::array<std::size_t, 4> size_bytes{0, 2, 4, 8};
  const unsigned size_flag = flags >> 6;
  return FrameHeader{.bytes = start.size() + (is_single_segment ? 0 : 1) +
                              dictionary_bytes[flags & 3] + size_bytes[size_flag] +
                              (size_flag == 0 && is_single_segment ? 1 : 0),
                     .has_checksum = (flags & 4) != 0};
}

struct FreeZstd {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

class Decompressor {
 public:
  Decompressor() : context_(ZSTD_createDCtx()), out_(ZSTD_DStreamOutSize()) {
    WEFT_CHECK(context_ != nullptr, "no memory for a zstd decompressor");
  }
  /// Calls `take` with all that comes of `bytes`; false if they are damaged.
  template <class Take>
  bool feed(Bytes bytes, Take&& take) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      if (ZSTD_isError(ZSTD_decompressStream(context_.get(), &out, &in)) != 0) return false;
      take(Bytes(out_).first(out.pos));
      // A full output may leave decompressed bytes inside of the context.
      if (in.pos == in.size && out.pos < out.size) return true;
    }
  }

 private:
  std::unique_ptr<ZSTD_DCtx, FreeZstd> context_;
  std::vector<std::byte> out_;
};

/// Calls `take(bytes)` with the frame's contents, and `pass(flush)` behind each whole block but the
/// last, until that returns false.
template <class Take, class Pass>
void walk(int descriptor, std::uint64_t begin, Take&& take, Pass&& pass) {
  const auto header = read_frame_header(descriptor, begin);
  if (!header) return;
  Decompressor decompressor;
  ZstdFlush at{.in_file = begin + header->bytes, .decompressed = 0};
  const auto counted = [&](Bytes bytes) {
    at.decompressed += bytes.size();
    take(bytes);
  };
  const auto start = read_at(descriptor, begin, header->bytes);
  if (start.size() < header->bytes || !decompressor.feed(start, counted)) return;
  for (;;) {
    const auto block_header = read_at(descriptor, at.in_file, block_header_bytes);
    if (block_header.size() < block_header_bytes) return;
    const unsigned word = std::to_integer<unsigned>(block_header[0]) |
                          std::to_integer<unsigned>(block_header[1]) << 8 |
                          std::to_integer<unsigned>(block_header[2]) << 16;
    const bool is_last = (word & 1) != 0;
    const bool is_repeated_byte = (word >> 1 & 3) == 1;
    const std::size_t size = block_header_bytes + (is_repeated_byte ? 1 : word >> 3);
    const auto block = read_at(descriptor, at.in_file, size);
    if (is_last || block.size() < size || !decompressor.feed(block, counted)) return;
    at.in_file += size;
    if (!pass(at)) return;
  }
}

/// zstd keeps its checksum to itself, but ends each frame with it.
class Checksum {
 public:
  Checksum() : context_(ZSTD_createCCtx()), out_(ZSTD_CStreamOutSize()) {
    WEFT_CHECK(context_ != nullptr, "no memory for a zstd compressor");
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, 1);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }
  void add(Bytes bytes) { run(bytes, ZSTD_e_continue); }
  std::vector<std::byte> finish() {
    run({}, ZSTD_e_end);
    return last_;
  }

 private:
  void run(Bytes bytes, ZSTD_EndDirective mode) {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    for (;;) {
      ZSTD_outBuffer out{out_.data(), out_.size(), 0};
      const std::size_t left = ZSTD_compressStream2(context_.get(), &out, &in, mode);
      WEFT_CHECK(ZSTD_isError(left) == 0, "zstd cannot compress");
      last_.insert(last_.end(), out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(out.pos));
      if (last_.size() > checksum_bytes) {
        last_.erase(last_.begin(), last_.end() - static_cast<std::ptrdiff_t>(checksum_bytes));
      }
      if (mode == ZSTD_e_continue ? in.pos == in.size : left == 0) return;
    }
  }

  std::unique_ptr<ZSTD_CCtx, FreeZstd> context_;
  std::vector<std::byte> out_;
  std::vector<std::byte> last_;
};

}  // namespace

std::vector<ZstdFlush> find_flushes(int descriptor, std::uint64_t begin) {
  std::vector<ZstdFlush> flushes;
  walk(
      descriptor, begin, [](Bytes) {},
      [&](const ZstdFlush& flush) {
        const bool is_new = flushes.empty() || flushes.back().decompressed < flush.decompressed;
        if (is_new) flushes.push_back(flush);
        return true;
      });
  return flushes;
}

std::vector<std::byte> ending_of_stream(int descriptor, std::uint64_t begin,
                                        const ZstdFlush& flush) {
  // Last, raw, of 0 bytes.
  std::vector<std::byte> ending{std::byte{1}, std::byte{0}, std::byte{0}};
  if (const auto header = read_frame_header(descriptor, begin); !header || !header->has_checksum) {
    return ending;
  }
  Checksum checksum;
  walk(
      descriptor, begin, [&](Bytes bytes) { checksum.add(bytes); },
      [&](const ZstdFlush& at) { return at.in_file < flush.in_file; });
  const auto sum = checksum.finish();
  ending.insert(ending.end(), sum.begin(), sum.end());
  return ending;
}

}  // namespace weft::wire
