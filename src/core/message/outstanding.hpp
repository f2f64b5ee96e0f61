// SPDX-License-Identifier: Apache-2.0
// OutstandingOperations: how the fabric's operations are shared out among peers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weft::message {

/// The fabric takes operations in their order, and only so many before some complete. A peer that
/// takes no messages completes none of its own: with all of them it would hold up the messages to
/// others, for which it may wait itself. So each peer may have a quarter of them, until all
/// together have half; the other half is reserved for all peers alike, at least 2 for each. With
/// more peers than a quarter of the operations, hundreds that take nothing can still hold up
/// others.
class OutstandingOperations {
 public:
  /// `most`: FabricLimits::max_outstanding; 0: there is no limit.
  OutstandingOperations(std::size_t most, std::uint32_t peers)
      : most_(most == 0 ? std::numeric_limits<std::size_t>::max() / 2 : most),
        reserved_(std::max<std::size_t>(2, most_ / 2 / std::max(1u, peers))) {}

  /// Returns how many more may be posted to a peer that has `own`; at least 2 where it has none.
  std::size_t room(std::size_t own) const {
    const std::size_t free = most_ / 2 - std::min(most_ / 2, all_);
    const std::size_t shared = std::min(free, most_ / 4 - std::min(most_ / 4, own));
    return std::max(shared, reserved_ - std::min(reserved_, own));
  }
  void begin(std::size_t operations) { all_ += operations; }
  void end(std::size_t operations) { all_ -= operations; }

 private:
  std::size_t most_;
  std::size_t reserved_;  // for each peer
  std::size_t all_ = 0;
};

}  // namespace weft::message
