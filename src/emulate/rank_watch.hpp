// SPDX-License-Identifier: Apache-2.0
// RankWatch: which of a run's processes ended first. When one dies its launcher ends the others,
// and afterwards all look alike.
#pragma once

#include <poll.h>

#include <cstdint>
#include <span>
#include <vector>

#include "emulate/control/control_block.hpp"

namespace weft::emulate {

/// Watches the processes that have enrolled in a block. Not thread-safe.
class RankWatch {
 public:
  explicit RankWatch(const ControlBlock& block) : block_(block) {}
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  /// Appends descriptors that are readable when a process ends, those of new processes too.
  void add_to(std::vector<pollfd>& all);
  /// Takes what a poll found of the descriptors that `add_to` appended.
  void take(std::span<const pollfd> polled);
  bool knows_any() const { return knows_any_; }
  /// The numbers of processes that have not ended.
  std::vector<std::int32_t> running() const;
  /// The numbers of processes that have ended, in order; as far as that is known, since several may
  /// have ended between two polls.
  const std::vector<std::int32_t>& ended() const { return ended_; }

 private:
  struct Watched {
    std::int32_t pid;
    int descriptor;
  };
  const ControlBlock& block_;
  std::vector<std::int32_t> seen_;  // by record, the number of its process
  bool knows_any_ = false;
  std::vector<Watched> watched_;
  std::vector<std::int32_t> ended_;
  bool lost_order_ = false;
};

}  // namespace weft::emulate
