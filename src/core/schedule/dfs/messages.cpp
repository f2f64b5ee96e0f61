// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/messages.hpp"

#include "core/schedule/dfs/arithmetic.hpp"
#include "wire/codec.hpp"

namespace weft::schedule::dfs {

namespace {

enum class Kind : std::uint8_t { hello = 1, report = 2, proposal = 3 };

static_assert(Hello::size <= Message::capacity);
static_assert(Report::size <= Message::capacity);
static_assert(Proposal::size <= Message::capacity);

// Far from where sums of instants and durations would overflow.
constexpr std::int64_t farthest_instant = std::int64_t{1} << 61;
constexpr std::uint64_t largest_index = std::uint64_t{1} << 56;
constexpr std::uint64_t farthest_request = 1 << 16;

bool plausible(Instant t) {
  return t.ticks() <= farthest_instant && t.ticks() >= -farthest_instant;
}
bool plausible(Duration d) {
  return d >= Duration{} && d <= longest_duration;
}
bool plausible(TimesliceIndex t) {
  return t.value() <= largest_index;
}
bool plausible(IntervalId id, TimesliceIndex grid_first) {
  return id.value() >= grid_first.value() && id.value() <= largest_index;
}

AnyMessage decode_hello(wire::Reader& in) {
  Hello h;
  h.grid_first = TimesliceIndex(in.get<std::uint64_t>());
  h.start = Instant(in.get<std::int64_t>());
  if (!in.done() || !plausible(h.grid_first) || !plausible(h.start)) return {};
  return h;
}

AnyMessage decode_report(wire::Reader& in) {
  Report r;
  r.grid_first = TimesliceIndex(in.get<std::uint64_t>());
  r.interval = IntervalId(in.get<std::uint64_t>());
  r.start = Instant(in.get<std::int64_t>());
  r.duration = Duration(in.get<std::int64_t>());
  r.proposed = Duration(in.get<std::int64_t>());
  r.latency = Duration(in.get<std::int64_t>());
  r.requested = IntervalId(in.get<std::uint64_t>());
  const bool times =
      plausible(r.start) && plausible(r.duration) && plausible(r.proposed) && plausible(r.latency);
  const bool indices = plausible(r.grid_first) && plausible(r.interval, r.grid_first) &&
                       r.requested > r.interval &&
                       r.requested.value() - r.interval.value() <= farthest_request;
  if (!in.done() || !times || !indices) return {};
  return r;
}

AnyMessage decode_proposal(wire::Reader& in) {
  Proposal p;
  p.grid_first = TimesliceIndex(in.get<std::uint64_t>());
  p.interval = IntervalId(in.get<std::uint64_t>());
  p.first_timeslice = TimesliceIndex(in.get<std::uint64_t>());
  p.rounds = in.get<std::uint32_t>();
  p.start = Instant(in.get<std::int64_t>());
  p.duration = Duration(in.get<std::int64_t>());
  p.spacing = Duration(in.get<std::int64_t>());
  const bool times = plausible(p.start) && plausible(p.duration) && plausible(p.spacing) &&
                     p.duration > Duration{} && p.spacing > Duration{};
  const bool indices = plausible(p.grid_first) && plausible(p.interval, p.grid_first) &&
                       plausible(p.first_timeslice) && p.rounds > 0;
  if (!in.done() || !times || !indices) return {};
  return p;
}

}  // namespace

void encode(const Hello& hello, Message& out) {
  wire::Writer w(out.bytes);
  w.put(Kind::hello);
  w.put(hello.grid_first.value());
  w.put(hello.start.ticks());
  out.size = static_cast<std::uint32_t>(w.size());
}

void encode(const Report& report, Message& out) {
  wire::Writer w(out.bytes);
  w.put(Kind::report);
  w.put(report.grid_first.value());
  w.put(report.interval.value());
  w.put(report.start.ticks());
  w.put(report.duration.ticks());
  w.put(report.proposed.ticks());
  w.put(report.latency.ticks());
  w.put(report.requested.value());
  out.size = static_cast<std::uint32_t>(w.size());
}

void encode(const Proposal& proposal, Message& out) {
  wire::Writer w(out.bytes);
  w.put(Kind::proposal);
  w.put(proposal.grid_first.value());
  w.put(proposal.interval.value());
  w.put(proposal.first_timeslice.value());
  w.put(proposal.rounds);
  w.put(proposal.start.ticks());
  w.put(proposal.duration.ticks());
  w.put(proposal.spacing.ticks());
  out.size = static_cast<std::uint32_t>(w.size());
}

AnyMessage decode(std::span<const std::byte> bytes) {
  wire::Reader in(bytes);
  switch (static_cast<Kind>(in.get<std::uint8_t>())) {
    case Kind::hello:
      return decode_hello(in);
    case Kind::report:
      return decode_report(in);
    case Kind::proposal:
      return decode_proposal(in);
  }
  return {};
}

}  // namespace weft::schedule::dfs
