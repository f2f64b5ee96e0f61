// SPDX-License-Identifier: Apache-2.0
// Decimated: an even sample of an endless series, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft {

/// Keeps every stride-th value, and when `limit` are kept, every second of those is dropped and the
/// stride doubles. Not random: the same values give the same sample. Memory is taken once, at
/// construction.
template <class T>
class Decimated {
 public:
  /// `limit` is at least 2.
  explicit Decimated(std::size_t limit) : limit_(limit < 2 ? 2 : limit) { kept_.reserve(limit_); }

  void add(const T& value) {
    if (seen_++ % stride_ != 0) return;
    if (kept_.size() == limit_) {
      halve();
      if ((seen_ - 1) % stride_ != 0) return;
    }
    kept_.push_back(value);
  }
  const std::vector<T>& values() const { return kept_; }
  /// Gives the kept values away; nothing may be added afterwards.
  std::vector<T> take() { return std::move(kept_); }

 private:
  void halve() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < kept_.size(); i += 2) kept_[kept++] = kept_[i];
    kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(kept), kept_.end());
    stride_ *= 2;
  }

  std::size_t limit_;
  std::uint64_t stride_ = 1;
  std::uint64_t seen_ = 0;
  std::vector<T> kept_;
};

}  // namespace weft
