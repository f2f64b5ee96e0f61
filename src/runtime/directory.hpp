// SPDX-License-Identifier: Apache-2.0
// Directory: the lives of a job's processes and their addresses, from which a launcher tells them
// of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/ids.hpp"

namespace weft {

/// One thread.
class Directory {
 public:
  explicit Directory(std::uint32_t nodes) : lives_(nodes) {}

  /// There are more processes.
  void grow(std::uint32_t nodes) { lives_.resize(nodes); }
  /// A new life begins; nothing is known of where. Its number, from 1.
  Incarnation begin(std::uint32_t node) {
    lives_[node].address.clear();
    return Incarnation(++lives_[node].incarnation);
  }
  /// Its last one; 0 before the first.
  Incarnation life(std::uint32_t node) const { return Incarnation(lives_[node].incarnation); }
  void set_address(std::uint32_t node, std::string address) {
    lives_[node].address = std::move(address);
  }
  /// It ended.
  void forget(std::uint32_t node) { lives_[node].address.clear(); }
  bool knows(std::uint32_t node) const { return !lives_[node].address.empty(); }

  /// "NODE INCARNATION ADDRESS\n"
  std::string line(std::uint32_t node) const;
  /// A line for each that is known, but `node`.
  std::string lines_of_others(std::uint32_t node) const;

  /// "NODE INCARNATION " for each that is not in its first life.
  std::string later_lives() const;

  /// Tells a life whose address became known of all others, and them of it: calls
  /// `tell(node, lines)`.
  template <class Tell>
  void introduce(std::uint32_t node, Tell&& tell) const {
    tell(node, lines_of_others(node));
    const std::string of_it = line(node);
    for (std::uint32_t i = 0; i < lives_.size(); ++i) {
      if (i != node && knows(i)) tell(i, of_it);
    }
  }

 private:
  struct Life {
    std::uint32_t incarnation = 0;
    std::string address;
  };
  std::vector<Life> lives_;
};

}  // namespace weft
