// SPDX-License-Identifier: Apache-2.0
// WriteWay: which way large writes go to a peer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft::shm {

/// A write is copied through the ring by both sides, or fetched by the receiver. When the two cores
/// share a cache the ring is twice as fast, else it is the slower by half; no call tells which, and
/// it changes as processes move. So both ways are tried, and the slower one now and then again.
class WriteWay {
 public:
  /// Returns whether the next write is to be fetched.
  bool fetches() const {
    if (through_ring_ < kFirstLaps) return false;
    if (cost_[kFetch] == kUnknown) return true;
    const bool is_trial = samples_ % kTrialEvery == kTrialEvery - 1;
    return prefers_fetching() != is_trial;
  }
  /// Records the time that writes of so many bytes took together until their receiver had all of
  /// them.
  void took(bool fetched, std::size_t bytes, double nanoseconds) {
    const double seen = nanoseconds / static_cast<double>(bytes);
    double& cost = cost_[fetched ? kFetch : kRing];
    // The fastest sample shows a way's cost: a slower write mostly waited for something else.
    cost = cost == kUnknown || seen < cost ? seen : cost + std::min(seen - cost, cost) / 8;
    ++samples_;
    if (!fetched) through_ring_ += bytes;
  }

 private:
  static constexpr std::size_t kRing = 0, kFetch = 1;
  static constexpr double kUnknown = 0;
  static constexpr std::size_t kTrialEvery = 256;
  /// The ring's first lap is slow, because its pages are new.
  static constexpr std::size_t kFirstLaps = std::size_t{2} << 20;

  /// A fetched write leaves the sender free: it may take a little longer.
  bool prefers_fetching() const { return cost_[kFetch] < cost_[kRing] * 1.25; }

  std::array<double, 2> cost_ = {kUnknown, kUnknown};  // nanoseconds per byte
  std::size_t samples_ = 0;
  std::size_t through_ring_ = 0;  // bytes of samples
};

}  // namespace weft::shm
