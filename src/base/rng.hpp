// SPDX-License-Identifier: Apache-2.0
// Rng: seeded, splittable, the same numbers on every platform. The only source of randomness in
// machines and models; the command line chooses the seed.
#pragma once

#include <cstdint>

namespace weft {

/// xoshiro256** seeded by splitmix64. Not for secrets (the fabrics use libsodium for those).
class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  std::uint64_t next();
  /// Uniform in [0, bound); bound > 0. Unbiased (Lemire).
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [0, 1).
  double uniform();
  /// Exponential with the given mean, by inversion.
  double exponential(double mean);
  /// Poisson with the given mean ≥ 0; normal approximation above 60.
  std::uint64_t poisson(double mean);
  /// An independent stream named by `stream`: the same parent and name give the same child, and
  /// splitting does not advance the parent.
  Rng split(std::uint64_t stream) const;

 private:
  std::uint64_t state_[4];
};

}  // namespace weft
