// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/engine.hpp"

#include <cstddef>

namespace weft::sim {
namespace {

// Events that are likely to happen before one that is looked at.
constexpr std::size_t kEarly = 10;
constexpr std::size_t kLate = 5;

/// One event's contribution to the trace hash: the finaliser of a well-known 64-bit mixer over the
/// fields that identify the event. Contributions are added, so that they commute.
std::uint64_t digest(const Event& e) {
  std::uint64_t x = static_cast<std::uint64_t>(e.time.ticks()) * 0x9e3779b97f4a7c15ULL;
  x ^= e.place() * 0xc2b2ae3d27d4eb4fULL;
  x ^= (std::uint64_t{e.target} << 16 | static_cast<std::uint64_t>(e.kind)) + (x >> 31);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 27);
}

}  // namespace

void EventHandler::fetch(const Event&, Ahead) const {}

void Engine::count(std::uint32_t source, PicoInstant at, EventKind kind, std::uint32_t target) {
  ++events_;
  last_counted_ = std::max(last_counted_, at);
  hash_ += digest({.time = at,
                   .sequence = sequences_[source]++,
                   .source = source,
                   .target = target,
                   .kind = kind,
                   .detail = 0,
                   .payload = 0});
}

/// A fetch that begins some events earlier costs nothing.
void Engine::fetch_ahead() const {
  const Event* near = queue_.near(kEarly + 1);
  if (near == nullptr) return;
  const auto fetch = [this](const Event& event, Ahead ahead) {
    handlers_[static_cast<std::size_t>(event.kind)]->fetch(event, ahead);
  };
  fetch(near[kEarly], Ahead::early);
  fetch(near[kLate], Ahead::late);
}

void Engine::run_until(PicoInstant end) {
  stopping_ = false;
  while (!queue_.empty() && queue_.front().time < end) {
    const Event event = queue_.pop();
    if (fetches_) fetch_ahead();
    now_ = event.time;
    ++handled_;
    // The processor cannot predict which kind is next, so no branch depends on it here.
    const std::uint64_t counts = counts_[static_cast<std::size_t>(event.kind)];
    events_ += counts;
    last_ = last_ + (event.time - last_) * static_cast<std::int64_t>(counts);
    hash_ += digest(event) * counts;
    handlers_[static_cast<std::size_t>(event.kind)]->on_event(event);
    if (stopping_) return;
  }
  now_ = end;
}

}  // namespace weft::sim
