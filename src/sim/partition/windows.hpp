// SPDX-License-Identifier: Apache-2.0
// Windows: drives this rank's part of a simulation in step with the others. Conservative: all that
// is before the end of a window can be handled without hearing from others, since their actions
// within it take effect here later (Chandy and Misra 1979; windows as in YAWNS, Nicol 1993).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/network/border.hpp"
#include "sim/network/network.hpp"
#include "sim/partition/exchange.hpp"

namespace weft::sim {

class Windows {
 public:
  /// `border` is the network's, which divides the topology among the exchange's ranks (see
  /// `partition`). Before anything is scheduled. All must outlive it.
  Windows(Engine& engine, Network& network, Exchange& exchange, Border& border,
          const Guarantees& expected);
  Windows(const Windows&) = delete;
  Windows& operator=(const Windows&) = delete;

  /// Links may come to have rates up to that one. Before the first run.
  void expect_rates_up_to(Bandwidth fastest);

  /// As Engine::run_until, on all ranks together: everything before `end` has been handled
  /// everywhere. Engines must not be stopped meanwhile.
  void run_until(PicoInstant end);

  /// Returns how long a window is; the longest duration there is: ranks need not wait for each
  /// other.
  PicoDuration length() const { return length_; }
  /// Returns how many there have been.
  std::uint64_t count() const { return count_; }
  /// Bytes sent to other ranks.
  std::uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  PicoInstant exchange_crossings();

  Guarantees expected_;
  Engine& engine_;
  Network& network_;
  Exchange& exchange_;
  Border& border_;
  std::vector<std::uint32_t> neighbours_;
  std::vector<Batch> incoming_;
  PicoDuration length_{};
  std::uint64_t count_ = 0;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace weft::sim
