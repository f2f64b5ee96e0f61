// SPDX-License-Identifier: Apache-2.0
// ReceivedLog: what was received in which order, as far back as it reaches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/message/name.hpp"

namespace weft::message {

/// Keeps the newest names in a ring, and a hash of all that there ever were.
class ReceivedLog {
 public:
  explicit ReceivedLog(std::size_t length) : names_(length) {}

  void add(const ReceivedName& name) {
    // One multiplication behind the other for a name, not one for each of its words.
    const std::uint64_t flow =
        std::uint64_t{name.flow.tag.value()} << 8 | static_cast<std::uint64_t>(name.flow.type);
    const std::uint64_t mixed = name.flow.generation.value() * 0x9e3779b97f4a7c15ULL +
                                flow * 0xbf58476d1ce4e5b9ULL + name.serial * 0x94d049bb133111ebULL +
                                name.sender.value();
    hash_ = (hash_ ^ mixed ^ mixed >> 32) * 0x100000001b3ULL;
    if (!names_.empty()) {
      names_[next_] = name;
      if (++next_ == names_.size()) next_ = 0;  // no division for each message
    }
    ++count_;
  }
  /// How many there ever were.
  std::uint64_t count() const { return count_; }
  std::uint64_t hash() const { return hash_; }
  /// The first that is still known.
  std::uint64_t oldest() const { return count_ < names_.size() ? 0 : count_ - names_.size(); }
  /// From `oldest` to `count` − 1.
  const ReceivedName& operator[](std::uint64_t i) const { return names_[i % names_.size()]; }

 private:
  std::vector<ReceivedName> names_;
  std::size_t next_ = 0;  // count_ modulo their number
  std::uint64_t count_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

}  // namespace weft::message
