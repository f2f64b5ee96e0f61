// SPDX-License-Identifier: Apache-2.0
// Rng: a seeded, splittable generator of random numbers, the only one in machines and models. The
// command line chooses the seed. Integers are the same on every platform; `exponential` and
// `poisson` use the C library's logarithm, whose last bits may differ.
#pragma once

#include <cstdint>

namespace weft {

/// xoshiro256** seeded by splitmix64. Not for secrets; the fabrics use libsodium for those.
class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  /// Returns 64 random bits.
  std::uint64_t next();
  /// Uniform in [0, bound); bound > 0. Unbiased (Lemire).
  std::uint64_t below(std::uint64_t bound);
  /// Uniform in [0, 1).
  double uniform();
  /// Exponentially distributed with the given mean, by inversion.
  double exponential(double mean);
  /// Poisson-distributed with the given mean ≥ 0; a normal approximation above 60.
  std::uint64_t poisson(double mean);
  /// Returns an independent generator named by `stream`. The same state of the parent and the same
  /// name give the same child; splitting does not advance the parent.
  Rng split(std::uint64_t stream) const;

 private:
  std::uint64_t state_[4];
};

}  // namespace weft
