// SPDX-License-Identifier: Apache-2.0
// FrameReader: turns the byte stream of a connection into messages and bytes in regions. Says where
// the next bytes are to be read to; does not read itself, so that tests and fuzzers can feed it.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "fabric/tcp/frame.hpp"
#include "fabric/tcp/region_table.hpp"

namespace weft::tcp {

/// Receive buffers of one size, shared by connections: an idle connection needs none.
class ReceiveBuffers {
 public:
  using Buffer = std::unique_ptr<std::byte[]>;
  explicit ReceiveBuffers(std::size_t size) : size_(size) {}
  std::size_t size() const { return size_; }
  Buffer take();
  void give(Buffer buffer);

 private:
  static constexpr std::size_t kKept = 64;
  std::size_t size_;
  std::vector<Buffer> free_;
};

/// Large payloads go from the socket to their region without a copy: while one is being received,
/// the plan reads past its end only as far as the headers and small messages that tend to follow.
class FrameReader {
 public:
  enum class Event : std::uint8_t {
    need_more,  ///< read as `plan` says
    message,    ///< a message is complete: `message()`
    drain,      ///< the peer announced that nothing follows
    bad,        ///< the stream is broken for good: `complaint()`
  };
  using Plan = std::array<iovec, 2>;

  /// Both outlive the reader. Buffers hold a header and `max_message` bytes at least.
  FrameReader(ReceiveBuffers& pool, const RegionTable& regions, std::size_t max_message);
  FrameReader(const FrameReader&) = delete;
  ~FrameReader();

  /// Consumes buffered bytes up to the next event. After `bad` or `drain` nothing may follow.
  Event next();
  /// Returns the bytes of the last `Event::message`; valid until `release`.
  std::span<const std::byte> message() const { return message_; }
  std::string_view complaint() const { return complaint_; }

  /// Plans where to read to, once `next` said `need_more` (`next` itself reports bytes behind a
  /// `drain`): number of entries used, 0 when there is no room until `release`.
  std::size_t plan(Plan& plan);
  /// `count` bytes were read as planned, from the front.
  void filled(std::size_t count);
  /// Messages handed out are not needed any more.
  void release();

  bool has_buffered() const { return begin_ != end_; }
  /// Between two frames, with nothing buffered.
  bool at_boundary() const { return begin_ == end_ && write_left_ == 0; }
  bool writes_into(std::uint64_t key) const { return write_left_ > 0 && write_key_ == key; }

 private:
  Event fail(std::string_view complaint);
  void copy_buffered_payload();
  bool begin_write(const FrameHeader& header);

  ReceiveBuffers* pool_;
  const RegionTable* regions_;
  std::size_t max_message_;
  ReceiveBuffers::Buffer buffer_;
  std::size_t begin_ = 0;  // buffered and not consumed: [begin_, end_)
  std::size_t end_ = 0;
  std::size_t wanted_ = kHeaderSize;  // bytes from begin_ on that the current frame needs
  std::size_t read_limit_;            // of a read into the buffer
  bool pinned_ = false;               // messages below begin_ were handed out
  bool drained_ = false;
  std::byte* write_at_ = nullptr;
  std::size_t write_left_ = 0;
  std::uint64_t write_key_ = 0;
  std::span<const std::byte> message_;
  std::string_view complaint_;
};

}  // namespace weft::tcp
