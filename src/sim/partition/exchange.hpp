// SPDX-License-Identifier: Apache-2.0
// Exchange: communication between processes that share one simulation. All calls are collective:
// every rank makes the same ones in the same order, and each returns when all have made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/result.hpp"

namespace weft::sim {

using Batch = std::vector<std::byte>;

/// One thread per rank.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual std::uint32_t rank() const = 0;  ///< 0 … size−1
  virtual std::uint32_t size() const = 0;
  /// Returns whether no lower rank is in this process.
  virtual bool first_of_process() const { return true; }

  /// Sends `outgoing[r]` to each rank r of `neighbours`, and receives theirs into `incoming[r]`,
  /// empty for the others; both have `size` entries, or none when there are no neighbours. Being
  /// neighbours is mutual. Returns the least of all ranks' `least`.
  virtual std::int64_t turn(std::span<const std::uint32_t> neighbours,
                            std::span<const Batch> outgoing, std::span<Batch> incoming,
                            std::int64_t least) = 0;
  /// Adds up the values of all ranks, place by place, modulo 2^64. As many on all.
  virtual void sum(std::span<std::uint64_t> values) = 0;
};

/// The exchange of a simulation in one part, which has no one to exchange with.
class AloneExchange final : public Exchange {
 public:
  std::uint32_t rank() const override { return 0; }
  std::uint32_t size() const override { return 1; }
  std::int64_t turn(std::span<const std::uint32_t>, std::span<const Batch>, std::span<Batch>,
                    std::int64_t least) override {
    return least;
  }
  void sum(std::span<std::uint64_t>) override {}
};

/// All ranks but this one.
std::vector<std::uint32_t> others(const Exchange& exchange);

/// The batches of all ranks, by rank, on all of them.
std::vector<Batch> gather(Exchange& exchange, Batch own);

/// The greatest value of all ranks.
inline std::int64_t greatest(Exchange& exchange, std::int64_t value) {
  return -exchange.turn({}, {}, {}, -value);
}

/// Checks whether all ranks are `good` and have the same `digest`: the same error on all of them,
/// that of the lowest rank which has one, otherwise. `what` names the thing that should be the
/// same: "the scenario".
Result<void> agree(Exchange& exchange, const Result<void>& good, std::uint64_t digest,
                   std::string_view what);

}  // namespace weft::sim
