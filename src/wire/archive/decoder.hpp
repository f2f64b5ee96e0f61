// SPDX-License-Identifier: Apache-2.0
// Reads fields out of a ByteInput. The first thing that goes wrong is kept, with the file's name
// and the byte it happened at; everything after it yields zeros, so that one check per item is
// enough.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "wire/archive/byte_input.hpp"

namespace weft::wire {

/// Bytes that grow without being set to zero first, and keep their capacity when cleared.
class GrowingBuffer {
 public:
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }
  /// `n` more bytes at the end, of unspecified value. Earlier spans become invalid.
  std::span<std::byte> grow(std::size_t n);
  std::span<const std::byte> view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// One thread at a time. Buffers 64 KiB; large fields bypass the buffer.
class Decoder {
 public:
  /// `name` is how errors call the input; `unit` what positions count ("byte", "decompressed
  /// byte").
  Decoder(std::unique_ptr<ByteInput> input, std::string name, std::string unit = "byte");

  /// The next value, zero after a failure. `what` names it in the error.
  template <class T>
  requires std::is_trivially_copyable_v<T> T get(std::string_view what) {
    T value{};
    get_bytes(std::as_writable_bytes(std::span(&value, 1)), what);
    return value;
  }
  /// Fills `into`, or fails.
  void get_bytes(std::span<std::byte> into, std::string_view what);
  /// Appends `n` bytes to `buffer`. Memory grows only as the bytes arrive, even if `n` is huge.
  void append(GrowingBuffer& buffer, std::uint64_t n, std::string_view what);
  void skip(std::uint64_t n, std::string_view what);
  /// True when nothing follows, or after a failure.
  bool at_end();

  /// Fails with `message` at the current position, unless something failed earlier.
  void fail(ErrorCode code, std::string message) { fail_at(position_, code, std::move(message)); }
  void fail_at(std::uint64_t position, ErrorCode code, std::string message);
  bool failed() const { return error_.has_value(); }
  /// Only after a failure.
  const Error& error() const { return *error_; }
  /// Whether it failed because the input ends too early, and not because its bytes are wrong.
  bool is_cut_off() const { return is_cut_off_ || (input_ != nullptr && input_->is_cut_off()); }

  std::uint64_t position() const { return position_; }
  /// Bytes left of the input, where it can tell.
  std::optional<std::uint64_t> remaining() const;
  const std::string& name() const { return name_; }

  /// The unused bytes of the buffer, and the input: for a decoder of another kind that goes on.
  std::pair<std::vector<std::byte>, std::unique_ptr<ByteInput>> release();

 private:
  /// Reads more into an empty buffer; false at the end or after a failure.
  bool refill();
  bool fits(std::uint64_t n, std::string_view what);

  std::unique_ptr<ByteInput> input_;
  std::string name_;
  std::string unit_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t position_ = 0;
  std::optional<Error> error_;
  bool is_cut_off_ = false;
};

}  // namespace weft::wire
