// SPDX-License-Identifier: Apache-2.0
#include "wire/archive/decoder.hpp"

#include <algorithm>
#include <cstring>

namespace weft::wire {
namespace {

constexpr std::size_t input_buffer_size = 64 << 10;
constexpr std::uint64_t append_step = 1 << 20;

}  // namespace

std::span<std::byte> GrowingBuffer::grow(std::size_t n) {
  if (n > capacity_ - size_) {
    const std::size_t capacity = std::max(size_ + n, capacity_ + capacity_ / 2);
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ > 0) std::memcpy(bytes.get(), bytes_.get(), size_);
    bytes_ = std::move(bytes);
    capacity_ = capacity;
  }
  size_ += n;
  return {bytes_.get() + (size_ - n), n};
}

Decoder::Decoder(std::unique_ptr<ByteInput> input, std::string name, std::string unit)
    : input_(std::move(input)),
      name_(std::move(name)),
      unit_(std::move(unit)),
      buffer_(input_buffer_size) {}

void Decoder::fail_at(std::uint64_t position, ErrorCode code, std::string message) {
  if (error_) return;
  error_ = Error{code, fmt::format("{}: {} {}: {}", name_, unit_, position, message)};
}

std::optional<std::uint64_t> Decoder::remaining() const {
  const auto of_input = input_->remaining();
  if (!of_input) return std::nullopt;
  return *of_input + (end_ - begin_);
}

bool Decoder::refill() {
  if (failed()) return false;
  const auto filled = input_->read(buffer_);
  if (!filled) {
    fail(filled.error().code, filled.error().message);
    return false;
  }
  begin_ = 0;
  end_ = *filled;
  return end_ > 0;
}

bool Decoder::at_end() {
  return failed() || (begin_ == end_ && !refill());
}

bool Decoder::fits(std::uint64_t n, std::string_view what) {
  if (failed()) return false;
  const auto left = remaining();
  if (left && n > *left) {
    is_cut_off_ = true;
    fail(ErrorCode::corrupt,
         fmt::format("truncated: {} needs {} bytes, {} are left", what, n, *left));
    return false;
  }
  return true;
}

void Decoder::get_bytes(std::span<std::byte> into, std::string_view what) {
  if (!fits(into.size(), what)) return;
  const std::size_t wanted = into.size();
  while (!into.empty()) {
    if (begin_ == end_ && into.size() >= input_buffer_size) {
      const auto direct = input_->read(into);
      if (!direct) return fail(direct.error().code, direct.error().message);
      position_ += *direct;
      into = into.subspan(*direct);
      if (*direct > 0) continue;
    }
    if (begin_ == end_ && !refill()) {
      if (failed()) return;
      is_cut_off_ = true;
      return fail(ErrorCode::corrupt, fmt::format("truncated: {} needs {} bytes, {} are left", what,
                                                  wanted, wanted - into.size()));
    }
    const std::size_t n = std::min(into.size(), end_ - begin_);
    std::memcpy(into.data(), buffer_.data() + begin_, n);
    begin_ += n;
    position_ += n;
    into = into.subspan(n);
  }
}

void Decoder::append(GrowingBuffer& buffer, std::uint64_t n, std::string_view what) {
  if (!fits(n, what)) return;
  while (n > 0 && !failed()) {
    const std::uint64_t step = std::min(n, std::max<std::uint64_t>(append_step, buffer.size()));
    get_bytes(buffer.grow(step), what);
    n -= step;
  }
}

void Decoder::skip(std::uint64_t n, std::string_view what) {
  if (!fits(n, what)) return;
  while (n > 0) {
    if (begin_ == end_) {
      const std::uint64_t passed = input_->skip(n);
      position_ += passed;
      n -= passed;
      if (n == 0) return;
      if (!refill()) {
        if (failed()) return;
        is_cut_off_ = true;
        return fail(ErrorCode::corrupt, fmt::format("truncated: {} misses {} bytes", what, n));
      }
    }
    const std::size_t here = std::min<std::uint64_t>(n, end_ - begin_);
    begin_ += here;
    position_ += here;
    n -= here;
  }
}

std::pair<std::vector<std::byte>, std::unique_ptr<ByteInput>> Decoder::release() {
  std::vector<std::byte> unused(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
                                buffer_.begin() + static_cast<std::ptrdiff_t>(end_));
  begin_ = end_ = 0;
  return {std::move(unused), std::move(input_)};
}

}  // namespace weft::wire
