// SPDX-License-Identifier: Apache-2.0
#include "base/rng.hpp"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.hpp"

namespace weft {
namespace {

std::uint64_t splitmix(std::uint64_t& x) {
  std::uint64_t z = (x += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(std::uint64_t seed) {
  for (auto& word : state_) word = splitmix(seed);
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  WEFT_CHECK(bound > 0);
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next()) * bound;
  auto low = static_cast<std::uint64_t>(product);
  if (low < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = static_cast<Wide>(next()) * bound;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Rng::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

double Rng::exponential(double mean) {
  return -mean * std::log1p(-uniform());
}

std::uint64_t Rng::poisson(double mean) {
  if (mean <= 0) return 0;
  if (mean > 60) {
    const double radius = std::sqrt(-2 * std::log1p(-uniform()));
    const double normal = radius * std::cos(2 * std::numbers::pi * uniform());
    const double draw = std::round(mean + std::sqrt(mean) * normal);
    return draw < 0 ? 0 : static_cast<std::uint64_t>(draw);
  }
  const double limit = std::exp(-mean);
  std::uint64_t count = 0;
  for (double product = uniform(); product > limit; product *= uniform()) ++count;
  return count;
}

Rng Rng::split(std::uint64_t stream) const {
  std::uint64_t mix = state_[0] ^ std::rotl(state_[3], 23) ^ (stream * 0xd1342543de82ef95ULL);
  return Rng(splitmix(mix));
}

}  // namespace weft
