// SPDX-License-Identifier: Apache-2.0
// CallName: which blocking call of a collective operation a short message belongs to.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "core/collective/collective.hpp"

namespace weft::mpi {

/// Operation, root and number of a call, in the bits of a message's length that short messages
/// leave free. Members of a group make the same calls in the same order.
class CallName {
 public:
  /// Of a call that has no name: it fits to any.
  CallName() = default;
  CallName(collective::Operation operation, std::uint32_t root, std::uint32_t number)
      : bits_((std::uint64_t{number} & most) << 44 | (std::uint64_t{root} & most) << 24 |
              (static_cast<std::uint64_t>(operation) + 1) << 16) {}
  /// Takes the two parts of what `with` returned.
  static CallName of(std::uint64_t word) {
    CallName name;
    name.bits_ = word & ~length_bits;
    return name;
  }
  static std::uint64_t length_of(std::uint64_t word) { return word & length_bits; }
  /// The length is below 2^16.
  std::uint64_t with(std::uint64_t length) const { return bits_ | length; }

  bool fits(CallName other) const { return bits_ == other.bits_ || bits_ == 0 || other.bits_ == 0; }
  /// The root is modulo 2^20, and so is the number, of which the one nearest to `near` is meant.
  std::string text(std::uint32_t near) const {
    const auto operation = static_cast<collective::Operation>((bits_ >> 16 & 0xff) - 1);
    const auto has_root = operation == collective::Operation::broadcast ||
                          operation == collective::Operation::reduce ||
                          operation == collective::Operation::gather ||
                          operation == collective::Operation::scatter;
    const auto behind = static_cast<std::int64_t>((near - (bits_ >> 44) + most / 2) & most);
    return fmt::format("{}{} of this communicator, collective call {} there", name_of(operation),
                       has_root ? fmt::format(" with root {}", bits_ >> 24 & most) : "",
                       std::int64_t{near} + static_cast<std::int64_t>(most / 2) - behind);
  }

 private:
  static constexpr std::uint64_t most = 0xf'ffff;
  static constexpr std::uint64_t length_bits = 0xffff;
  std::uint64_t bits_ = 0;
};

}  // namespace weft::mpi
