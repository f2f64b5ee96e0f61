// SPDX-License-Identifier: Apache-2.0
// Visitors: connections to an endpoint's listener that are not known to be a peer's.
//
// Providers accept every connection and keep it for as long as the other side likes: 100 strangers
// that say nothing cost 100 descriptors, and a process has 1024. A provider offers no way to close
// one, but it does so itself when its socket comes to an end, and sockets are this process's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/time.hpp"

namespace weft::ofi {

/// Finds connections on which the provider never got as far as to answer, and ends those that are
/// older than `patience` and, oldest first, those beyond `most`. Threads: that of the endpoint, as
/// a descriptor must not change hands meanwhile.
class Visitors {
 public:
  static constexpr Duration patience = Duration::seconds(5);
  static constexpr std::size_t most = 64;

  /// `own`: the endpoint's name, a `sockaddr`; an endpoint with another kind of name is never
  /// visited. `answers`: whether the provider answers each connection that is a peer's. If it does
  /// not, a connection counts as a peer's when any byte came over it.
  Visitors(std::span<const std::byte> own, bool answers);

  /// Looks at all descriptors of the process. Returns how many it ended.
  std::size_t look(Instant now);
  /// Returns when to look again.
  Instant next_look() const { return next_look_; }

 private:
  struct Visitor {
    std::uint64_t socket = 0;  ///< tells it from a later one with the same descriptor
    Instant since{};
    bool ended = false;
  };
  void note(int descriptor, Instant now);

  std::vector<std::byte> own_;
  bool answers_;
  std::unordered_map<int, Visitor> seen_, before_;
  Instant next_look_{};
};

}  // namespace weft::ofi
