// SPDX-License-Identifier: Apache-2.0
#include "core/stream/timeslice_set.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace weft::stream {
namespace {

/// Timeslices that are counted at a time: their bits fit a processor's nearest cache.
constexpr std::uint64_t chunk = 1 << 17;

/// Sets the bits of those members of the run that lie in [begin, begin + chunk).
void mark(const TimesliceRun& run, std::uint64_t begin, std::vector<std::uint64_t>& bits) {
  const std::uint64_t first = run.first.value();
  std::uint64_t k = first >= begin ? 0 : (begin - first + run.stride - 1) / run.stride;
  for (; k < run.count; ++k) {
    const std::uint64_t at = first + k * run.stride - begin;
    if (at >= chunk) return;
    bits[at / 64] |= std::uint64_t{1} << (at % 64);
  }
}

}  // namespace

void TimesliceSet::add(TimesliceIndex t) {
  if (!runs_.empty()) {
    TimesliceRun& last = runs_.back();
    if (last.count == 1 && t > last.first) {
      last.stride = t.value() - last.first.value();
      last.count = 2;
      return;
    }
    if (last.count > 1 && t == last.first.plus(last.stride * last.count)) {
      ++last.count;
      return;
    }
  }
  runs_.push_back({.first = t, .stride = 1, .count = 1});
}

std::uint64_t count_distinct(std::span<const TimesliceRun> runs, TimesliceIndex end) {
  std::vector<TimesliceRun> sorted(runs.begin(), runs.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const TimesliceRun& a, const TimesliceRun& b) { return a.first < b.first; });
  std::vector<TimesliceRun> open;
  std::vector<std::uint64_t> bits(chunk / 64);
  std::uint64_t total = 0;
  std::size_t next = 0;
  for (std::uint64_t begin = 0; begin < end.value(); begin += chunk) {
    while (next < sorted.size() && sorted[next].first.value() < begin + chunk) {
      WEFT_CHECK(sorted[next].stride > 0);
      open.push_back(sorted[next++]);
    }
    std::fill(bits.begin(), bits.end(), 0);
    for (const TimesliceRun& run : open) mark(run, begin, bits);
    std::erase_if(open, [&](const TimesliceRun& run) {
      return run.first.plus(run.stride * run.count).value() <= begin + chunk;
    });
    const std::uint64_t length = std::min(chunk, end.value() - begin);
    if (length % 64 != 0) bits[length / 64] &= (std::uint64_t{1} << (length % 64)) - 1;
    for (std::uint64_t w = 0; w * 64 < length; ++w) {
      total += static_cast<std::uint64_t>(std::popcount(bits[w]));
    }
  }
  return total;
}

}  // namespace weft::stream
