// SPDX-License-Identifier: Apache-2.0
#include "core/determinant/records.hpp"

namespace weft::determinant {
namespace {

std::byte* put(std::uint64_t value, std::byte* to) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<std::byte>(value | 0x80);
  *to++ = static_cast<std::byte>(value);
  return to;
}

/// Small for small differences in either direction.
std::uint64_t folded(std::uint64_t difference) {
  return difference << 1 ^ (0 - (difference >> 63));
}
std::uint64_t unfolded(std::uint64_t value) {
  return value >> 1 ^ (0 - (value & 1));
}

/// Numbers in as few bytes as they need: every value has one form.
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> from) : from_(from) {}

  std::uint64_t next(std::uint64_t most = ~std::uint64_t{0}) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == from_.size()) return fail();
      const auto byte = std::to_integer<std::uint64_t>(from_[at_++]);
      if (shift == 63 && byte > 1) return fail();
      value |= (byte & 0x7f) << shift;
      if (byte >= 0x80) continue;
      return (byte == 0 && shift > 0) || value > most ? fail() : value;
    }
    return fail();
  }
  std::uint64_t fail() {
    good_ = false;
    return 0;
  }
  bool good() const { return good_; }
  std::size_t read() const { return at_; }
  std::size_t left() const { return from_.size() - at_; }

 private:
  std::span<const std::byte> from_;
  std::size_t at_ = 0;
  bool good_ = true;
};

constexpr std::uint64_t most_u32 = 0xffff'ffff;

void read_places(Numbers& numbers, std::vector<std::uint32_t>& places) {
  const std::uint64_t count = numbers.next();
  // Each takes a byte.
  if (!numbers.good() || count == 0 || count > numbers.left()) {
    numbers.fail();
    return;
  }
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < count && numbers.good(); ++i) {
    const std::uint64_t place = next + numbers.next(most_u32);
    if (place > most_u32) numbers.fail();
    places.push_back(static_cast<std::uint32_t>(place));
    next = place + 1;
  }
}

}  // namespace

std::size_t write(const Record& record, Differences& before, std::byte* to) {
  std::byte* at = to;
  *at++ = static_cast<std::byte>(record.kind);
  switch (record.kind) {
    case Kind::misses:
      at = put(record.value, at);
      break;
    case Kind::yes:
    case Kind::kept:
      break;
    case Kind::some: {
      at = put(record.places.size(), at);
      std::uint32_t next = 0;
      for (const std::uint32_t place : record.places) {
        at = put(place - next, at);
        next = place + 1;
      }
      break;
    }
    case Kind::message:
      at = put(static_cast<std::uint32_t>(record.tag), put(record.source, at));
      break;
    case Kind::match:
      at = put(record.source, put(folded(record.value - before.number), at));
      before.number = record.value;
      break;
    case Kind::cancel:
      at = put(folded(record.value - before.number), at);
      before.number = record.value;
      break;
    case Kind::time:
      at = put(folded(record.value - before.time), at);
      before.time = record.value;
      break;
    case Kind::number:
      at = put(folded(record.value), at);
      break;
    case Kind::clock: {
      std::uint64_t& last = before.clocks[record.source % most_clocks];
      at = put(folded(record.value - last), put(record.source % most_clocks, at));
      last = record.value;
      break;
    }
  }
  return static_cast<std::size_t>(at - to);
}

std::size_t read(std::span<const std::byte> from, Differences& before, Record& record) {
  if (from.empty()) return 0;
  record.kind = static_cast<Kind>(from[0]);
  record.value = 0;
  record.source = 0;
  record.tag = 0;
  record.places.clear();
  Numbers numbers(from.subspan(1));
  switch (record.kind) {
    case Kind::misses:
      record.value = numbers.next();
      if (record.value == 0) numbers.fail();
      break;
    case Kind::yes:
    case Kind::kept:
      break;
    case Kind::some:
      read_places(numbers, record.places);
      break;
    case Kind::message:
      record.source = static_cast<std::uint32_t>(numbers.next(most_u32));
      record.tag = static_cast<std::int32_t>(numbers.next(most_u32));
      break;
    case Kind::match:
      record.value = before.number + unfolded(numbers.next());
      record.source = static_cast<std::uint32_t>(numbers.next(most_u32));
      break;
    case Kind::cancel:
      record.value = before.number + unfolded(numbers.next());
      break;
    case Kind::time:
      record.value = before.time + unfolded(numbers.next());
      break;
    case Kind::number:
      record.value = unfolded(numbers.next());
      break;
    case Kind::clock:
      record.source = static_cast<std::uint32_t>(numbers.next(most_clocks - 1));
      record.value = before.clocks[record.source] + unfolded(numbers.next());
      break;
    default:
      return 0;
  }
  if (!numbers.good()) return 0;
  if (record.kind == Kind::match || record.kind == Kind::cancel) before.number = record.value;
  if (record.kind == Kind::time) before.time = record.value;
  if (record.kind == Kind::clock) before.clocks[record.source] = record.value;
  return 1 + numbers.read();
}

}  // namespace weft::determinant
