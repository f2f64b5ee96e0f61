// SPDX-License-Identifier: Apache-2.0
// CallName: names a collective call in a message; CallRecord: the recent calls of a process.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>

#include "core/collective/collective.hpp"

namespace weft::mpi {

enum class CallKind : std::uint8_t { blocking, nonblocking, persistent };

/// Kind, operation, root and number of a call, in the bits of a message's length that short
/// messages leave free. Members of a group make the same calls in the same order. The number of a
/// persistent operation is its tag, which no other one has at the same time.
class CallName {
 public:
  /// Stands for a root that members number differently, as between groups.
  static constexpr std::uint32_t no_root = 0xf'ffff;
  /// An unnamed call, which fits any other.
  CallName() = default;
  CallName(collective::Operation operation, std::uint32_t root, std::uint32_t number,
           CallKind kind = CallKind::blocking, bool is_among_neighbors = false)
      : bits_((std::uint64_t{number} & most) << 44 | (std::uint64_t{root} & most) << 24 |
              std::uint64_t{is_among_neighbors} << 23 | static_cast<std::uint64_t>(kind) << 21 |
              (static_cast<std::uint64_t>(operation) + 1) << 16) {}
  /// `of` and `length_of` split the word that `with` returned.
  static CallName of(std::uint64_t word) {
    CallName name;
    name.bits_ = word & ~length_bits;
    return name;
  }
  static std::uint64_t length_of(std::uint64_t word) { return word & length_bits; }
  /// The length is below 2^16.
  std::uint64_t with(std::uint64_t length) const { return bits_ | length; }

  bool fits(CallName other) const { return bits_ == other.bits_ || bits_ == 0 || other.bits_ == 0; }
  bool is_named() const { return bits_ != 0; }
  /// False: a received word that no process sends.
  bool is_sound() const {
    const std::uint64_t operation = bits_ >> 16 & 0x1f;
    constexpr auto last = static_cast<std::uint64_t>(collective::Operation::exclusive_scan) + 1;
    return bits_ == 0 || (operation > 0 && operation <= last && kind() <= CallKind::persistent);
  }
  CallKind kind() const { return static_cast<CallKind>(bits_ >> 21 & 0x3); }
  /// Modulo 2^20.
  std::uint32_t number() const { return static_cast<std::uint32_t>(bits_ >> 44); }
  /// The root is modulo 2^20, and so is the number: the text has the one nearest to `near`.
  std::string text(std::uint32_t near) const {
    const auto operation = static_cast<collective::Operation>((bits_ >> 16 & 0x1f) - 1);
    const std::uint64_t root = bits_ >> 24 & most;
    const auto has_root = root != no_root && (operation == collective::Operation::broadcast ||
                                              operation == collective::Operation::reduce ||
                                              operation == collective::Operation::gather ||
                                              operation == collective::Operation::scatter);
    const std::string what =
        fmt::format("{}{}{} of this communicator", (bits_ >> 23 & 1) != 0 ? "neighbor " : "",
                    name_of(operation), has_root ? fmt::format(" with root {}", root) : "");
    if (kind() == CallKind::persistent) return "persistent " + what;
    const auto behind = static_cast<std::int64_t>((near - number() + most / 2) & most);
    return fmt::format("{}{}, collective call {} there",
                       kind() == CallKind::nonblocking ? "nonblocking " : "", what,
                       std::int64_t{near} + static_cast<std::int64_t>(most / 2) - behind);
  }

 private:
  static constexpr std::uint64_t most = 0xf'ffff;
  static constexpr std::uint64_t length_bits = 0xffff;
  std::uint64_t bits_ = 0;
};

/// The calls that a process has made on one communicator.
class CallRecord {
 public:
  CallName add(collective::Operation operation, std::uint32_t root,
               CallKind kind = CallKind::blocking, bool is_among_neighbors = false) {
    ++count_;
    return recent_[count_ % recent_.size()] = {operation, root, count_, kind, is_among_neighbors};
  }
  std::uint32_t count() const { return count_; }
  /// Returns this process's call of that number; an unnamed one if it is not recent.
  CallName of_number(std::uint32_t number) const {
    const CallName own = recent_[number % recent_.size()];
    return own.number() == number ? own : CallName{};
  }

 private:
  std::uint32_t count_ = 0;
  std::array<CallName, 32> recent_;  // by number
};

}  // namespace weft::mpi
