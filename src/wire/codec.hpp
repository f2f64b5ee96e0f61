// SPDX-License-Identifier: Apache-2.0
// Little-endian encoding into a caller's bytes and decoding out of them. Neither allocates; a
// reader that runs past the end turns bad and stays bad, so one check at the end is enough.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/check.hpp"

namespace weft::wire {

static_assert(std::endian::native == std::endian::little);

/// Appends to a caller-owned buffer. Overflow is a programmer error and aborts.
class Writer {
 public:
  explicit Writer(std::span<std::byte> out) : out_(out) {}

  /// Appends the value's bytes.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    WEFT_CHECK(sizeof(T) <= out_.size() - used_, "message of {} bytes is full", out_.size());
    std::memcpy(out_.data() + used_, &value, sizeof(T));
    used_ += sizeof(T);
  }
  /// Appends the values one after the other. Reader has the same function, so that a message can
  /// list its fields once for both directions.
  template <class... T>
  void fields(const T&... values) {
    (put(values), ...);
  }
  void put_bytes(std::span<const std::byte> bytes) {
    WEFT_CHECK(bytes.size() <= out_.size() - used_);
    if (!bytes.empty()) std::memcpy(out_.data() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
  }
  /// Return the number of bytes written, and these bytes in the caller's buffer.
  std::size_t size() const { return used_; }
  std::span<const std::byte> view() const { return out_.first(used_); }

 private:
  std::span<std::byte> out_;
  std::size_t used_ = 0;
};

/// Reads from bytes that may come from anywhere.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}

  /// Returns the next value, or zero when too few bytes are left; then `ok` is false for ever.
  template <class T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value{};
    if (!ok_ || in_.size() - at_ < sizeof(T)) {
      ok_ = false;
      return value;
    }
    std::memcpy(&value, in_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  /// Reads values one after the other.
  template <class... T>
  void fields(T&... values) {
    ((values = get<T>()), ...);
  }
  /// Returns the next `n` bytes in place, or an empty span when fewer are left, as `get`.
  std::span<const std::byte> get_bytes(std::size_t n) {
    if (!ok_ || in_.size() - at_ < n) {
      ok_ = false;
      return {};
    }
    const auto bytes = in_.subspan(at_, n);
    at_ += n;
    return bytes;
  }
  bool ok() const { return ok_; }
  /// Returns whether all bytes were read and none was missing.
  bool done() const { return ok_ && at_ == in_.size(); }
  /// Returns the number of bytes not read yet.
  std::size_t left() const { return in_.size() - at_; }

 private:
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace weft::wire
