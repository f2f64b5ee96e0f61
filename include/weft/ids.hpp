// SPDX-License-Identifier: Apache-2.0
// Strong integer types for identities and amounts: a NodeId is not a TimesliceIndex is not a size.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace weft {

/// An integer that only compares and steps; `Tag` keeps different kinds apart.
template <class Tag, class Rep>
class StrongId {
 public:
  using rep = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;
  constexpr StrongId& operator++() {
    ++value_;
    return *this;
  }
  /// The id `n` steps further.
  constexpr StrongId plus(Rep n) const { return StrongId(static_cast<Rep>(value_ + n)); }
  /// Larger than every id in use; stands for "none yet" or "no end".
  static constexpr StrongId max() { return StrongId(std::numeric_limits<Rep>::max()); }

 private:
  Rep value_ = 0;
};

/// A process of the job: 0 … nodes−1, the same on every node.
using NodeId = StrongId<struct NodeTag, std::uint32_t>;
/// Counts the lives of one node: a restarted process has a higher one.
using Incarnation = StrongId<struct IncarnationTag, std::uint32_t>;
/// A timeslice's number, from 0 in ascending time order.
using TimesliceIndex = StrongId<struct TimesliceTag, std::uint64_t>;
/// A scheduling interval's number (Salem et al. 2019, section III), ascending.
using IntervalId = StrongId<struct IntervalTag, std::uint64_t>;
/// Priority class of an operation, 0 (lowest) … 15. Each fabric gives it a meaning: DSCP on TCP, a
/// traffic class on libfabric, a virtual lane in the simulator.
using ServiceLevel = StrongId<struct ServiceLevelTag, std::uint8_t>;

/// An amount of data in bytes.
class ByteCount {
 public:
  constexpr ByteCount() = default;
  constexpr explicit ByteCount(std::uint64_t bytes) : bytes_(bytes) {}
  static constexpr ByteCount kib(std::uint64_t n) { return ByteCount(n << 10); }
  static constexpr ByteCount mib(std::uint64_t n) { return ByteCount(n << 20); }
  static constexpr ByteCount gib(std::uint64_t n) { return ByteCount(n << 30); }

  constexpr std::uint64_t value() const { return bytes_; }
  constexpr auto operator<=>(const ByteCount&) const = default;
  constexpr ByteCount& operator+=(ByteCount b) {
    bytes_ += b.bytes_;
    return *this;
  }
  constexpr ByteCount& operator-=(ByteCount b) {
    bytes_ -= b.bytes_;
    return *this;
  }
  friend constexpr ByteCount operator+(ByteCount a, ByteCount b) { return a += b; }
  friend constexpr ByteCount operator-(ByteCount a, ByteCount b) { return a -= b; }
  friend constexpr ByteCount operator*(ByteCount a, std::uint64_t n) {
    return ByteCount(a.bytes_ * n);
  }

 private:
  std::uint64_t bytes_ = 0;
};

/// A data rate in bytes per second. Zero means "not limited" where a limit is configured.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  static constexpr Bandwidth bytes_per_second(std::uint64_t n) { return Bandwidth(n); }
  static constexpr Bandwidth bits_per_second(std::uint64_t n) { return Bandwidth(n / 8); }
  constexpr std::uint64_t bytes_per_second() const { return bytes_per_second_; }
  constexpr std::uint64_t bits_per_second() const { return bytes_per_second_ * 8; }
  constexpr auto operator<=>(const Bandwidth&) const = default;

 private:
  constexpr explicit Bandwidth(std::uint64_t n) : bytes_per_second_(n) {}
  std::uint64_t bytes_per_second_ = 0;
};

}  // namespace weft

template <class Tag, class Rep>
struct std::hash<weft::StrongId<Tag, Rep>> {
  std::size_t operator()(weft::StrongId<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
