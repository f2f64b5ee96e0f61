// SPDX-License-Identifier: Apache-2.0
// A trace from a list of events for every rank, and short words for events.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "trace/events/event.hpp"

namespace weft::trace {

class ListedStream final : public EventStream {
 public:
  explicit ListedStream(std::vector<std::vector<Event>> events)
      : events_(std::move(events)), at_(events_.size()), world_(events_.size()) {
    std::iota(world_.begin(), world_.end(), 0);
  }
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(events_.size()); }
  std::span<const std::uint32_t> members(std::uint32_t communicator) const override {
    return communicator == 0 ? std::span<const std::uint32_t>(world_)
                             : std::span<const std::uint32_t>();
  }
  Result<Event> next(std::uint32_t rank) override {
    const std::size_t at = at_[rank];
    if (at == events_[rank].size()) return Event{};
    ++at_[rank];
    Event event = events_[rank][at];
    event.number = at + 1;
    event.at_ns = at;
    return event;
  }

 private:
  std::vector<std::vector<Event>> events_;
  std::vector<std::size_t> at_;
  std::vector<std::uint32_t> world_;
};

inline Event sends(std::uint32_t peer, std::uint64_t bytes, std::uint32_t request = 0,
                   std::int64_t tag = 0) {
  return {.kind = Event::Kind::send, .peer = peer, .tag = tag, .bytes = bytes, .request = request};
}
inline Event receives(std::uint32_t peer, std::uint64_t bytes, std::uint32_t request = 0,
                      std::int64_t tag = 0) {
  return {
      .kind = Event::Kind::receive, .peer = peer, .tag = tag, .bytes = bytes, .request = request};
}
inline Event waits(std::uint32_t request = 0) {
  return {.kind = Event::Kind::wait, .request = request};
}
inline Event computes(std::uint64_t ns) {
  return {.kind = Event::Kind::compute, .compute_ns = ns};
}
inline Event calls(collective::Operation operation, std::uint64_t bytes, std::uint32_t root = 0) {
  return {.kind = Event::Kind::collective, .bytes = bytes, .operation = operation, .root = root};
}

}  // namespace weft::trace
