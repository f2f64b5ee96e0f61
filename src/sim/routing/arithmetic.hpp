// SPDX-License-Identifier: Apache-2.0
// Arithmetic of routers per packet and hop, without dividing.
#pragma once

#include <cstdint>

#include "base/check.hpp"

namespace weft::sim {

/// Divides by a number that is known only when the topology is: by multiplying with its reciprocal
/// in 63 bits, rounded up, which is exact for all 32-bit dividends and divisors up to 2^31.
class Divisor {
 public:
  explicit Divisor(std::uint32_t divisor = 1)
      : reciprocal_((std::uint64_t{1} << 63) / divisor + 1), divisor_(divisor) {
    WEFT_CHECK(divisor > 0 && divisor <= (1u << 31));
  }
  std::uint32_t quotient(std::uint32_t n) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint32_t>((Wide{reciprocal_} * n) >> 63);
  }
  std::uint32_t remainder(std::uint32_t n) const { return n - quotient(n) * divisor_; }

 private:
  std::uint64_t reciprocal_;
  std::uint32_t divisor_;
};

/// Mixes all bits of `x` into all bits of the result (the finaliser of MurmurHash3).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

/// A packet's path as a number: the same for all packets of one flow between two hosts.
constexpr std::uint32_t flow_hash(std::uint32_t source, std::uint32_t destination,
                                  std::uint64_t flow) {
  return static_cast<std::uint32_t>(
      mix(mix(std::uint64_t{source} << 32 | destination) ^ (flow * 0x9e3779b97f4a7c15ULL)));
}

/// One of `count` for this flow at this place; another place decides independently.
constexpr std::uint32_t hashed_choice(std::uint32_t hash, std::uint32_t place,
                                      std::uint32_t count) {
  const std::uint64_t mixed = mix(std::uint64_t{place} << 32 | hash) >> 32;
  return static_cast<std::uint32_t>((mixed * count) >> 32);
}

}  // namespace weft::sim
