// SPDX-License-Identifier: Apache-2.0
// The nodes of a stream job: input nodes are the job's nodes 0 … inputs−1, compute nodes follow.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "weft/ids.hpp"

namespace weft::stream {

/// The fixed roles of a job's nodes. Copyable.
struct Roster {
  std::uint32_t inputs = 1;
  std::uint32_t computes = 1;

  constexpr std::uint32_t nodes() const { return inputs + computes; }
  NodeId compute_node(std::uint32_t compute) const { return NodeId(inputs + compute); }
  bool is_input(NodeId node) const { return node.value() < inputs; }
  bool is_compute(NodeId node) const { return node.value() >= inputs && node.value() < nodes(); }
  /// Index among the compute nodes; `node` must be one.
  std::uint32_t compute_index(NodeId node) const {
    WEFT_CHECK(is_compute(node), "node {} is no compute node", node.value());
    return node.value() - inputs;
  }
};

/// A set of indices 0 … size−1, as words, so that it can go on the wire as it stands.
class IndexSet {
 public:
  IndexSet() = default;
  explicit IndexSet(std::uint32_t size, bool full = false)
      : size_(size), more_(size <= 64 ? 0 : (size + 63) / 64) {
    for (std::uint32_t i = 0; full && i < size; ++i) insert(i);
  }

  std::uint32_t size() const { return size_; }
  bool contains(std::uint32_t i) const {
    return i < size_ && ((word(i / 64) >> (i % 64)) & 1) != 0;
  }
  void insert(std::uint32_t i) {
    WEFT_CHECK(i < size_);
    count_ += contains(i) ? 0 : 1;
    word(i / 64) |= std::uint64_t{1} << (i % 64);
  }
  void erase(std::uint32_t i) {
    WEFT_CHECK(i < size_);
    count_ -= contains(i) ? 1 : 0;
    word(i / 64) &= ~(std::uint64_t{1} << (i % 64));
  }
  void clear() {
    for (std::size_t w = 0; w < words().size(); ++w) word(w) = 0;
    count_ = 0;
  }
  std::uint32_t count() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// Returns how many members are smaller than i: the position of i among the members.
  std::uint32_t rank(std::uint32_t i) const;
  /// The n-th smallest member; n < count().
  std::uint32_t nth(std::uint32_t n) const;
  IndexSet& operator&=(const IndexSet& other);
  bool operator==(const IndexSet&) const = default;

  /// Valid until the set is changed or destroyed.
  std::span<const std::uint64_t> words() const {
    if (size_ <= 64) return {&first_, size_ == 0 ? 0u : 1u};
    return more_;
  }
  /// Replaces the members of word w by those of a wire word; ignores bits beyond `size`.
  void assign_word(std::size_t w, std::uint64_t bits);

 private:
  const std::uint64_t& word(std::size_t w) const { return size_ <= 64 ? first_ : more_[w]; }
  std::uint64_t& word(std::size_t w) { return size_ <= 64 ? first_ : more_[w]; }

  std::uint32_t size_ = 0;
  std::uint32_t count_ = 0;  // of the members: each contribution reads it
  // A set of up to 64 needs no second piece of memory: each contribution reads its timeslice's set.
  std::uint64_t first_ = 0;
  std::vector<std::uint64_t> more_;
};

}  // namespace weft::stream
