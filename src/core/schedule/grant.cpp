// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant.hpp"

#include <algorithm>
#include <utility>

#include "wire/codec.hpp"

namespace weft::schedule {
namespace {

constexpr std::size_t latencies_kept = 63;
/// A trial is kept when it gains this much, or when a smaller number loses no more than that.
constexpr double worthwhile_gain = 1.03;
constexpr double tolerable_loss = 0.985;
/// More in flight is also worth it when timeslices get so much closer; fewer only if not wider.
constexpr double closer = 0.9;
constexpr double no_wider = 1.05;
/// Periods that a rate is averaged over.
constexpr std::uint32_t periods_measured = 2;
constexpr std::uint32_t most_patience = 64;

/// From a compute node: `grant`. From an input node: it will not send it, because its stream ends
/// before (`ended`, so for all that follow) or because it is done already (`passed`).
enum class Kind : std::uint8_t { grant = 0, ended = 1, passed = 2 };

void put_timeslice(std::uint32_t to, TimesliceIndex t, Kind kind, MessageBox& out) {
  Message m;
  m.to = to;
  wire::Writer writer(m.bytes);
  writer.put(t.value());
  writer.put(static_cast<std::uint8_t>(kind));
  m.size = static_cast<std::uint32_t>(writer.size());
  out.push_back(m);
}

bool get_timeslice(std::span<const std::byte> bytes, TimesliceIndex& t, Kind& kind) {
  wire::Reader in(bytes);
  t = TimesliceIndex(in.get<std::uint64_t>());
  kind = static_cast<Kind>(in.get<std::uint8_t>());
  return in.done() && kind <= Kind::passed;
}

template <class T>
void remove_at(FixedVec<T>& v, std::size_t i) {
  std::copy(v.begin() + i + 1, v.end(), v.begin() + i);
  const std::size_t left = v.size() - 1;
  v.clear();
  v.extend(left);
}

}  // namespace

GrantInput::GrantInput(const GrantOptions& options, std::uint32_t computes_max)
    : granted_(std::size_t{2} * computes_max * options.open_timeslices),
      declined_(std::size_t{2} * computes_max * options.open_timeslices) {}

void GrantInput::on_grid(Instant, const RoundGrid& grid) {
  grid_ = grid;
  declined_.clear();
  granted_.clear();
}

Choice GrantInput::choose(Instant, const SendState& state) {
  Choice wait;
  std::size_t i = 0;
  while (i < granted_.size()) {
    const TimesliceIndex t = granted_[i];
    const Readiness readiness = state.readiness(t);
    if (readiness == Readiness::sendable) return {.kind = Choice::Kind::send, .timeslice = t};
    const bool over = readiness == Readiness::started || readiness == Readiness::after_end;
    if (over && !declined_.full()) {
      declined_.push_back({t, readiness == Readiness::after_end});
      remove_at(granted_, i);
      continue;
    }
    if (i == 0) wait.timeslice = t;
    ++i;
  }
  return wait;
}

void GrantInput::on_started(Instant, TimesliceIndex t) {
  auto* const found = std::find(granted_.begin(), granted_.end(), t);
  if (found != granted_.end()) {
    remove_at(granted_, static_cast<std::size_t>(found - granted_.begin()));
  }
}

void GrantInput::on_message(Instant, std::uint32_t, std::span<const std::byte> bytes) {
  TimesliceIndex t;
  Kind kind{};
  if (!get_timeslice(bytes, t, kind) || kind != Kind::grant || granted_.full()) return;
  granted_.push_back(t);
}

void GrantInput::write_messages(Instant, MessageBox& out) {
  std::size_t said = 0;
  for (const Declined& d : declined_.view()) {
    if (out.full()) break;
    if (d.timeslice >= grid_.first) {
      put_timeslice(grid_.compute_of(d.timeslice), d.timeslice,
                    d.ended ? Kind::ended : Kind::passed, out);
    }
    ++said;
  }
  declined_.drop_front(said);
}

InFlightProbe::InFlightProbe(std::uint32_t minimum, std::uint32_t first, std::uint32_t maximum)
    : minimum_(minimum),
      maximum_(std::max(minimum, maximum)),
      value_(std::clamp(first, minimum, maximum_)) {}

void InFlightProbe::reset_measurement() {
  started_ = false;
  count_ = 0;
  bytes_ = 0;
}

void InFlightProbe::on_arrival(Instant now, std::uint64_t bytes) {
  if (!started_) {
    started_ = true;
    since_ = now;
    count_ = 0;
    bytes_ = 0;
    return;
  }
  bytes_ += bytes;
  if (++count_ < period_ || now == since_) return;
  const double rate = static_cast<double>(bytes_) / (now - since_).to_seconds();
  since_ = now;
  count_ = 0;
  bytes_ = 0;
  if (settle_ > 0) {
    --settle_;
    return;
  }
  period_ended(rate);
}

void InFlightProbe::on_spread(Duration spread) {
  if (settle_ > 0) return;
  spread_sum_ += spread.to_seconds();
  ++spreads_;
}

void InFlightProbe::try_value(Trial trial, std::uint32_t value) {
  trial_ = trial;
  before_trial_ = value_;
  value_ = value;
  settle_ = 1;
}

bool InFlightProbe::worth_keeping(const Measured& now) const {
  const bool as_fast = now.rate > before_.rate * tolerable_loss;
  if (trial_ == Trial::up) {
    return now.rate > before_.rate * worthwhile_gain ||
           (as_fast && now.spread < before_.spread * closer);
  }
  return as_fast && now.spread < before_.spread * no_wider;
}

void InFlightProbe::start_trial() {
  const bool up = up_next_ || value_ == minimum_;
  up_next_ = !up_next_;
  if (up && value_ < maximum_) {
    try_value(Trial::up, std::min(value_ + std::max(1u, value_ / 2), maximum_));
  } else if (!up) {
    try_value(Trial::down, std::max(value_ - std::max(1u, value_ / 4), minimum_));
  }
}

void InFlightProbe::period_ended(double rate) {
  rate_sum_ += rate;
  if (++measured_ < periods_measured) return;
  const Measured now{.rate = rate_sum_ / periods_measured,
                     .spread = spreads_ > 0 ? spread_sum_ / spreads_ : 0};
  rate_sum_ = spread_sum_ = 0;
  measured_ = spreads_ = 0;
  if (trial_ == Trial::none) {
    before_ = now;
    if (++calm_ < patience_) return;
    calm_ = 0;
    start_trial();
    return;
  }
  const bool keep = worth_keeping(now);
  // What was worth it once is tried again at once.
  const Trial direction = std::exchange(trial_, Trial::none);
  if (keep) {
    patience_ = 1;
    before_ = now;
    up_next_ = direction == Trial::up;
    start_trial();
  } else {
    value_ = before_trial_;
    patience_ = std::min(patience_ * 2, most_patience);
    settle_ = 1;
  }
}

GrantCompute::GrantCompute(const GrantOptions& options, std::uint32_t inputs)
    : options_(options),
      up_(inputs, false),
      ended_(inputs, ~std::uint64_t{0}),
      outstanding_(std::size_t{inputs} * options.open_timeslices),
      probe_(options.min_in_flight, options.first_in_flight,
             std::min(options.max_in_flight, inputs * options.open_timeslices)),
      arrivals_(options.open_timeslices + 1),
      latencies_(latencies_kept, 0),
      expected_(inputs),
      next_granted_(inputs, 0) {}

void GrantCompute::count_arrival(Instant now, std::uint64_t round) {
  Arrivals& a = arrivals_[round % arrivals_.size()];
  if (a.round != round) {
    a = {.round = round, .left = 0, .first = now};
    for (std::uint32_t i = 0; i < up_.size(); ++i) a.left += up_[i] && round < ended_[i];
  }
  if (a.left > 0 && --a.left == 0) probe_.on_spread(now - a.first);
}

std::uint32_t GrantCompute::input_at(std::uint32_t step) const {
  return static_cast<std::uint32_t>((self_ + step) % up_.size());
}

void GrantCompute::on_grid(Instant, const RoundGrid& grid, std::uint32_t self) {
  grid_ = grid;
  self_ = self;
  active_ = true;
  outstanding_.clear();
  ended_.assign(up_.size(), ~std::uint64_t{0});
  next_granted_.assign(up_.size(), 0);
  round_ = 0;
  step_ = 0;
  probe_.reset_measurement();
  probe_.set_period(std::max<std::uint32_t>(32, 4 * static_cast<std::uint32_t>(up_.size())));
}

void GrantCompute::on_input(Instant now, std::uint32_t input, bool up) {
  if (input >= up_.size()) return;
  up_[input] = up;
  if (up) return;
  for (std::size_t i = outstanding_.size(); i-- > 0;) {
    if (outstanding_[i].input == input) settle(now, input, outstanding_[i].round, false);
  }
}

void GrantCompute::on_contribution(Instant now, std::uint32_t input, TimesliceIndex t,
                                   ByteCount bytes) {
  if (!active_ || t < grid_.first || grid_.compute_of(t) != self_) return;
  settle(now, input, grid_.round_of(t), true);
  count_arrival(now, grid_.round_of(t));
  probe_.on_arrival(now, bytes.value());
}

void GrantCompute::on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) {
  TimesliceIndex declined;
  Kind kind{};
  if (!active_ || from >= up_.size() || !get_timeslice(bytes, declined, kind)) return;
  if (declined < grid_.first || kind == Kind::grant) return;
  if (kind == Kind::ended) ended_[from] = std::min(ended_[from], grid_.round_of(declined));
  settle(now, from, grid_.round_of(declined), false);
}

void GrantCompute::settle(Instant now, std::uint32_t input, std::uint64_t round, bool arrived) {
  for (std::size_t i = 0; i < outstanding_.size(); ++i) {
    if (outstanding_[i].input != input || outstanding_[i].round != round) continue;
    if (arrived) {
      const Duration latency = now - outstanding_[i].granted;
      learn(latency);
      Duration& expected = expected_[input];
      expected = expected == Duration{} ? latency : expected + (latency - expected) / 4;
      if (round == round_ && !is_slow(input)) last_regular_ = now;
    }
    remove_at(outstanding_, i);
    return;
  }
}

void GrantCompute::learn(Duration latency) {
  latencies_[latencies_seen_++ % latencies_kept] = latency.ticks();
  const std::size_t n = std::min(latencies_seen_, latencies_kept);
  // The median moves slowly: looking at it now and then is enough.
  if (n < 8 || latencies_seen_ % 8 != 0) return;
  std::int64_t sorted[latencies_kept];
  std::copy_n(latencies_.begin(), n, sorted);
  std::nth_element(sorted, sorted + n / 2, sorted + n);
  usual_ = Duration(sorted[n / 2]);
}

Duration GrantCompute::late_after() const {
  return usual_ == Duration{} ? Duration::max() : usual_ * options_.late_factor;
}

GrantCompute::InFlight GrantCompute::in_flight(Instant now) const {
  // Late grants do not count against the limit, but only as many as the limit itself: when
  // everything is late the network is slow, not one sender.
  InFlight count;
  for (const Outstanding& o : outstanding_.view()) {
    if (is_slow(o.input)) continue;
    const bool is_late = late_after() != Duration::max() && now - o.granted > late_after();
    ++(is_late && count.late < probe_.value() ? count.late : count.fresh);
  }
  return count;
}

bool GrantCompute::is_slow(std::uint32_t input) const {
  return usual_ != Duration{} && expected_[input] > usual_ * 2;
}

Instant GrantCompute::wait_for_slow() const {
  // So late that the others arrive together with the slow ones that were asked ahead.
  Instant until{};
  for (const Outstanding& o : outstanding_.view()) {
    if (o.round <= round_) continue;
    until = std::max(until, o.granted + expected_[o.input] - collecting_);
  }
  return until;
}

bool GrantCompute::may_open_next(Instant now, std::uint32_t late) {
  // The next timeslice waits for stragglers of this one, and for room.
  if (late > 0) return false;
  for (const Outstanding& o : outstanding_.view()) {
    if (o.round <= round_ && is_slow(o.input)) return false;
  }
  if (const Instant until = wait_for_slow(); until > now) {
    deadline_ = std::min(deadline_, until);
    return false;
  }
  return outstanding_.empty() || round_ + 1 < outstanding_[0].round + options_.open_timeslices;
}

void GrantCompute::grant(Instant now, std::uint32_t input, std::uint64_t round, MessageBox& out) {
  outstanding_.push_back({.input = input, .round = round, .granted = now});
  next_granted_[input] = round + 1;
  put_timeslice(input, grid_.timeslice(round, self_), Kind::grant, out);
}

void GrantCompute::ask_slow_ahead(Instant now, MessageBox& out) {
  for (std::uint32_t i = 0; i < up_.size(); ++i) {
    if (!is_slow(i) || !up_[i] || round_ + 1 >= ended_[i]) continue;
    if (next_granted_[i] != round_ + 1 || out.full() || outstanding_.full()) continue;
    const bool busy = std::any_of(outstanding_.begin(), outstanding_.end(),
                                  [i](const Outstanding& o) { return o.input == i; });
    if (!busy) grant(now, i, round_ + 1, out);
  }
}

void GrantCompute::write_messages(Instant now, MessageBox& out) {
  deadline_ = Instant::never();
  if (!active_) return;
  ask_slow_ahead(now, out);
  while (!out.full() && !outstanding_.full()) {
    const InFlight count = in_flight(now);
    if (count.fresh >= probe_.value()) break;
    if (step_ == up_.size()) {
      bool anybody = false;
      for (std::uint32_t i = 0; i < up_.size(); ++i) anybody = anybody || may_grant(i);
      if (!anybody || !may_open_next(now, count.late)) break;
      collecting_ = collecting_ + (last_regular_ - opened_ - collecting_) / 4;
      step_ = 0;
      ++round_;
      opened_ = last_regular_ = now;
    }
    const std::uint32_t input = input_at(step_++);
    if (may_grant(input) && next_granted_[input] <= round_) grant(now, input, round_, out);
  }
  // A grant that turns late frees its place.
  if (late_after() == Duration::max()) return;
  for (const Outstanding& o : outstanding_.view()) {
    const Instant turns_late = o.granted + late_after() + Duration(1);
    if (turns_late > now) deadline_ = std::min(deadline_, turns_late);
  }
}

std::unique_ptr<InputSchedule> make_grant_input(const GrantOptions& options,
                                                std::uint32_t computes_max) {
  return std::make_unique<GrantInput>(options, computes_max);
}

std::unique_ptr<ComputeSchedule> make_grant_compute(const GrantOptions& options,
                                                    std::uint32_t inputs) {
  return std::make_unique<GrantCompute>(options, inputs);
}

}  // namespace weft::schedule
