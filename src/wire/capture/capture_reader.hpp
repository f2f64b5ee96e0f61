// SPDX-License-Identifier: Apache-2.0
// CaptureReader: the frames of a capture file, one after the other, in constant memory. Reads pcap
// (both byte orders, microseconds and nanoseconds), pcapng and ERF; ERF records within pcap and
// pcapng, as ibdump writes them, come out as the frames that they hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft/result.hpp"
#include "wire/capture/frame.hpp"

namespace weft::wire {

struct CapturedFrame {
  std::uint64_t number = 0;          ///< from 1, as Wireshark counts
  std::uint64_t time_ns = 0;         ///< since 1970
  LinkType link{};                   ///< never erf; other numbers than the enumeration's may occur
  std::uint32_t original = 0;        ///< bytes that were on the wire
  std::span<const std::byte> bytes;  ///< the captured ones; valid until the next call
};

/// One thread. Bytes may be hostile: memory stays below 32 MiB with any of them.
class CaptureReader {
 public:
  /// Asked now and then, also while a pipe has no writer yet, or nothing to read: when it says so,
  /// the capture ends behind the packets that have been read, and before its first one when its
  /// beginning has not come.
  using IsStopped = std::function<bool()>;

  /// Errors: the file cannot be opened, or is no capture; one that is compressed says so.
  static Result<CaptureReader> open(const std::string& path, IsStopped is_stopped = {});
  /// The same from an open stream, which the reader closes.
  static Result<CaptureReader> open(std::FILE* stream, const std::string& name,
                                    IsStopped is_stopped = {});

  /// The next frame; false at the end. Errors, `corrupt`: the defect of the next packet, without
  /// the file's name, such as "truncated"; the reader is of no use afterwards.
  Result<bool> next(CapturedFrame& frame);

  /// Where `next` begins to read, or failed to: of the packet its number, and where it, or the
  /// block before it that is wrong, begins in the file.
  struct Position {
    std::uint64_t packet = 1;
    std::uint64_t offset = 0;
  };
  Position position() const { return {packets_ + 1, begin_}; }

  /// Returns the link type of the file, or of its first interface; 0 before a pcapng file names
  /// one.
  std::uint32_t link_type() const { return link_; }

 private:
  enum class Format : std::uint8_t { unknown, pcap, pcapng, erf };
  struct Interface {
    std::uint32_t link = 0;
    std::uint32_t ticks_per_second_log = 6;  ///< a power of ten, or of two
    bool binary_ticks = false;
    std::int64_t offset_s = 0;
  };
  struct Closer {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };

  CaptureReader(std::FILE* stream, IsStopped is_stopped)
      : stream_(stream), is_stopped_(std::move(is_stopped)) {}

  Result<void> recognise(const std::string& name);
  std::size_t read_some(std::span<std::byte> into);
  bool is_stopped() const { return is_stopped_ && is_stopped_(); }
  bool waits_for_more(int file);
  bool looks_like_erf();
  bool fill(
      std::size_t bytes);  // makes so many bytes available at at_; false: the file ends before
  Result<void> skip(std::uint64_t bytes);
  std::span<const std::byte> take(std::size_t bytes);
  std::uint32_t u32(std::span<const std::byte> from, std::size_t at) const;
  std::uint16_t u16(std::span<const std::byte> from, std::size_t at) const;

  Result<bool> next_pcap(CapturedFrame& frame);
  Result<bool> next_pcapng(CapturedFrame& frame);
  Result<bool> read_block(std::uint32_t type, std::span<const std::byte> body,
                          CapturedFrame& frame);
  Result<void> read_section();
  void read_interface(std::span<const std::byte> body);
  Result<bool> next_erf(CapturedFrame& frame);
  Result<void> unwrap_erf(CapturedFrame& frame) const;

  std::unique_ptr<std::FILE, Closer> stream_;
  IsStopped is_stopped_;
  int failure_ = 0;  // errno of the read that failed
  std::vector<std::byte> buffer_;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  std::uint64_t before_ = 0;         // bytes of the file in front of the buffer
  std::uint64_t begin_ = 0;          // of the packet or block that is read
  Format format_ = Format::unknown;  // stays so when the reader is stopped before it knows
  bool swapped_ = false;             // numbers are big-endian
  std::uint32_t link_ = 0;
  std::uint64_t tick_ns_ = 1'000;
  std::vector<Interface> interfaces_;
  std::uint64_t packets_ = 0;
};

}  // namespace weft::wire
