// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/clock_synchronizer.hpp"

#include <algorithm>

#include "core/schedule/dfs/arithmetic.hpp"

namespace weft::schedule::dfs {

namespace {

constexpr std::int64_t billion = 1'000'000'000;

}  // namespace

ClockSynchronizer::ClockSynchronizer(std::uint32_t inputs, std::uint32_t history,
                                     std::uint32_t offsets, std::uint32_t drift_limit_ppm)
    : history_(history),
      offsets_(offsets),
      kept_(std::max(history, offsets)),
      drift_limit_ppb_(std::int64_t{drift_limit_ppm} * 1'000),
      clocks_(inputs),
      samples_(std::size_t{inputs} * kept_),
      scratch_(kept_) {}

ClockSynchronizer::Sample& ClockSynchronizer::sample(std::uint32_t input, std::uint64_t number) {
  return samples_[std::size_t{input} * kept_ + number % kept_];
}

const ClockSynchronizer::Sample& ClockSynchronizer::sample(std::uint32_t input,
                                                           std::uint64_t number) const {
  return samples_[std::size_t{input} * kept_ + number % kept_];
}

void ClockSynchronizer::set_initial(std::uint32_t input, Instant input_time, Instant engine_time) {
  Clock& clock = clocks_[input];
  if (clock.samples > 0) return;
  clock.reference = input_time;
  clock.offset = engine_time - input_time;
}

void ClockSynchronizer::forget(std::uint32_t input) {
  clocks_[input] = Clock{};
}

void ClockSynchronizer::record(std::uint32_t input, Instant received, Instant interval_end,
                               Duration latency) {
  Clock& clock = clocks_[input];
  Sample next{.end = interval_end, .offset = received - interval_end - latency};  // Eq. 2
  if (clock.samples > 0) {
    const Sample& last = sample(input, clock.samples - 1);
    const Duration elapsed = next.end - last.end;
    if (elapsed <= Duration{}) return;  // repeated or out of order: no news about the clock
    const Duration gained = next.offset - last.offset;
    const std::int64_t limit = scale(elapsed.ticks(), drift_limit_ppb_, billion);
    next.drift_ppb =
        scale(std::clamp(gained.ticks(), -limit, limit), billion, elapsed.ticks());  // Eq. 3
  }
  sample(input, clock.samples) = next;
  ++clock.samples;
  clock.reference = interval_end;
  estimate_drift(input);
  estimate_offset(input);
}

void ClockSynchronizer::estimate_drift(std::uint32_t input) {
  Clock& clock = clocks_[input];
  // The first sample ever has no drift: it has none before it.
  const std::uint64_t count = std::min<std::uint64_t>(clock.samples - 1, history_);
  if (count == 0) return;
  for (std::uint64_t n = 0; n < count; ++n) {
    scratch_[n] = sample(input, clock.samples - 1 - n).drift_ppb;
  }
  clock.drift_ppb = median({scratch_.data(), count});
}

void ClockSynchronizer::estimate_offset(std::uint32_t input) {
  Clock& clock = clocks_[input];
  const std::uint64_t count = std::min<std::uint64_t>(clock.samples, offsets_);
  for (std::uint64_t n = 0; n < count; ++n) {
    const Sample& s = sample(input, clock.samples - 1 - n);
    const Duration since = clock.reference - s.end;
    scratch_[n] = s.offset.ticks() + scale(since.ticks(), clock.drift_ppb, billion);
  }
  clock.offset = Duration(median({scratch_.data(), count}));
}

Duration ClockSynchronizer::latest_offset(std::uint32_t input) const {
  const Clock& clock = clocks_[input];
  return clock.samples == 0 ? clock.offset : sample(input, clock.samples - 1).offset;
}

Instant ClockSynchronizer::to_engine(std::uint32_t input, Instant input_time) const {
  const Clock& clock = clocks_[input];
  const Wide since = Wide{input_time.ticks()} - clock.reference.ticks();
  return Instant(saturated(Wide{input_time.ticks()} + clock.offset.ticks() +
                           since * clock.drift_ppb / billion));
}

Instant ClockSynchronizer::to_input(std::uint32_t input, Instant engine_time) const {
  const Clock& clock = clocks_[input];
  // The inverse of to_engine: since · (1 + drift) = engine_time − reference − offset.
  const Wide stretched = Wide{engine_time.ticks()} - clock.reference.ticks() - clock.offset.ticks();
  return Instant(
      saturated(clock.reference.ticks() + stretched * billion / (billion + clock.drift_ppb)));
}

}  // namespace weft::schedule::dfs
