// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/frame_reader.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"

namespace weft::tcp {
namespace {

// Payloads from this size on are received in place, with a short read behind them.
constexpr std::size_t kLargePayload = 8 * 1024;
constexpr std::size_t kBehindLargePayload = 512;
// The size of a read when the next frame is unknown: more means more to copy when it turns out to
// be a large payload, less means more reads of small messages. Grows while reads fill it.
constexpr std::size_t kFirstRead = 4 * 1024;

}  // namespace

ReceiveBuffers::Buffer ReceiveBuffers::take() {
  if (free_.empty()) return Buffer(new std::byte[size_]);
  Buffer buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

void ReceiveBuffers::give(Buffer buffer) {
  if (buffer != nullptr && free_.size() < kKept) free_.push_back(std::move(buffer));
}

FrameReader::FrameReader(ReceiveBuffers& pool, const RegionTable& regions, std::size_t max_message)
    : pool_(&pool), regions_(&regions), max_message_(max_message), read_limit_(kFirstRead) {
  WEFT_CHECK(pool.size() >= kHeaderSize + max_message);
}

FrameReader::~FrameReader() {
  pool_->give(std::move(buffer_));
}

FrameReader::Event FrameReader::fail(std::string_view complaint) {
  complaint_ = complaint;
  return Event::bad;
}

void FrameReader::copy_buffered_payload() {
  const std::size_t n = std::min(write_left_, end_ - begin_);
  if (n == 0) return;
  std::memcpy(write_at_, buffer_.get() + begin_, n);
  write_at_ += n;
  write_left_ -= n;
  begin_ += n;
}

bool FrameReader::begin_write(const FrameHeader& header) {
  write_at_ = regions_->find(header.key, header.offset, header.length);
  if (write_at_ == nullptr) return false;
  write_left_ = header.length;
  write_key_ = header.key;
  begin_ += kHeaderSize;
  if (header.length >= kLargePayload) read_limit_ = kBehindLargePayload;
  return true;
}

FrameReader::Event FrameReader::next() {
  for (;;) {
    if (!complaint_.empty()) return Event::bad;
    copy_buffered_payload();
    wanted_ = kHeaderSize;
    if (write_left_ > 0 || end_ - begin_ < kHeaderSize) return Event::need_more;
    if (drained_) return fail("a frame after the announcement that none follows");
    const std::span<const std::byte, kHeaderSize> bytes(buffer_.get() + begin_, kHeaderSize);
    const auto header = decode_header(bytes);
    if (!header.has_value()) return fail("bytes that are no frame header");
    switch (header->type) {
      case FrameType::write:
        if (!begin_write(*header)) return fail("a write outside of the exposed regions");
        break;
      case FrameType::message:
        if (header->length > max_message_) return fail("a message above the maximal size");
        if (end_ - begin_ < kHeaderSize + header->length) {
          wanted_ = kHeaderSize + header->length;
          return Event::need_more;
        }
        message_ = {buffer_.get() + begin_ + kHeaderSize, header->length};
        begin_ += kHeaderSize + header->length;
        pinned_ = true;
        return Event::message;
      case FrameType::drain:
        begin_ += kHeaderSize;
        drained_ = true;
        return Event::drain;
    }
  }
}

std::size_t FrameReader::plan(Plan& plan) {
  std::size_t entries = 0;
  if (write_left_ > 0) plan[entries++] = {write_at_, write_left_};
  if (buffer_ == nullptr) buffer_ = pool_->take();
  if (begin_ == end_ && !pinned_) begin_ = end_ = 0;
  if (begin_ + wanted_ > pool_->size()) {
    if (pinned_) return entries;
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t missing = wanted_ - std::min(wanted_, end_ - begin_);
  const std::size_t room = std::min(pool_->size() - end_, std::max(read_limit_, missing));
  if (room > 0) plan[entries++] = {buffer_.get() + end_, room};
  return entries;
}

void FrameReader::filled(std::size_t count) {
  const std::size_t payload = std::min(count, write_left_);
  write_at_ += payload;
  write_left_ -= payload;
  end_ += count - payload;
  if (count - payload >= read_limit_) {
    read_limit_ = std::min(pool_->size(), std::max(kFirstRead, read_limit_ * 2));
  }
}

void FrameReader::release() {
  pinned_ = false;
  message_ = {};
  if (begin_ != end_) return;
  begin_ = end_ = 0;
  pool_->give(std::move(buffer_));
}

}  // namespace weft::tcp
