// SPDX-License-Identifier: Apache-2.0
// Exchange: what processes that share one simulation say to each other. All calls are collective:
// every rank makes the same ones in the same order, and each returns when all have made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::sim {

using Batch = std::vector<std::byte>;

/// One thread per rank.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual std::uint32_t rank() const = 0;  ///< 0 … size−1
  virtual std::uint32_t size() const = 0;

  /// Sends `outgoing[r]` to each rank r of `neighbours`, and gets what they send into
  /// `incoming[r]`, empty for the others; both have `size` entries. Being neighbours is mutual;
  /// there are the same ones in every call. Returns the least of what all ranks give as `least`.
  virtual std::int64_t turn(std::span<const std::uint32_t> neighbours,
                            std::span<const Batch> outgoing, std::span<Batch> incoming,
                            std::int64_t least) = 0;
  /// Adds up the values of all ranks, place by place, modulo 2^64. As many on all.
  virtual void sum(std::span<std::uint64_t> values) = 0;
};

/// Nobody else.
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

}  // namespace weft::sim
