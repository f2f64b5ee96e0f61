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

// The fields of each message in their order. `v` is a wire::Writer or a wire::Reader.
constexpr auto hello_fields = [](auto& v, auto& m) { v.fields(m.grid_first, m.start); };
constexpr auto report_fields = [](auto& v, auto& m) {
  v.fields(m.grid_first, m.interval, m.start, m.duration, m.proposed, m.latency, m.requested);
};
constexpr auto proposal_fields = [](auto& v, auto& m) {
  v.fields(m.grid_first, m.interval, m.first_timeslice, m.rounds, m.start, m.duration, m.spacing);
};

template <class Said, class Fields>
void encode_as(Kind kind, const Said& said, const Fields& fields, Message& out) {
  wire::Writer w(out.bytes);
  w.put(kind);
  fields(w, said);
  out.size = static_cast<std::uint32_t>(w.size());
}

AnyMessage decode_hello(wire::Reader& in) {
  Hello h;
  hello_fields(in, h);
  if (!in.done() || !plausible(h.grid_first) || !plausible(h.start)) return {};
  return h;
}

AnyMessage decode_report(wire::Reader& in) {
  Report r;
  report_fields(in, r);
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
  proposal_fields(in, p);
  const bool times = plausible(p.start) && plausible(p.duration) && plausible(p.spacing) &&
                     p.duration > Duration{} && p.spacing > Duration{};
  const bool indices = plausible(p.grid_first) && plausible(p.interval, p.grid_first) &&
                       plausible(p.first_timeslice) && p.rounds > 0;
  if (!in.done() || !times || !indices) return {};
  return p;
}

}  // namespace

void encode(const Hello& hello, Message& out) {
  encode_as(Kind::hello, hello, hello_fields, out);
}

void encode(const Report& report, Message& out) {
  encode_as(Kind::report, report, report_fields, out);
}

void encode(const Proposal& proposal, Message& out) {
  encode_as(Kind::proposal, proposal, proposal_fields, out);
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
