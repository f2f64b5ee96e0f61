// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/grant.hpp"

#include <algorithm>
#include <utility>

#include "wire/codec.hpp"

namespace weft::schedule {
namespace {

constexpr std::size_t latencies_kept = 63;
/// Grants that one input node may have from one compute node: the next one is there when it has
/// served the last.
constexpr std::uint64_t grants_per_input = 2;
/// Who answers after so many times what is late was not queued somewhere but absent.
constexpr std::int64_t absent_factor = 3;

enum class Kind : std::uint8_t {
  // From a compute node.
  grant = 0,
  grant_and_tell = 1,  // also wants to hear what is agreed on
  // From an input node: it will not send what was granted, because its stream ends before (so for
  // all that follow), or because it is done already.
  ended = 2,
  passed = 3,
  agreed = 4,  // so many grants are agreed on
};

struct Said {
  Kind kind{};
  TimesliceIndex timeslice{};
  std::uint16_t grants = 0;  // in `agreed`; the compute node's wish with a grant
};

void say(std::uint32_t to, const Said& said, MessageBox& out) {
  Message m;
  m.to = to;
  wire::Writer writer(m.bytes);
  writer.put(static_cast<std::uint8_t>(said.kind));
  writer.put(said.timeslice.value());
  writer.put(said.grants);
  m.size = static_cast<std::uint32_t>(writer.size());
  out.push_back(m);
}

bool understand(std::span<const std::byte> bytes, Said& said) {
  wire::Reader in(bytes);
  said.kind = static_cast<Kind>(in.get<std::uint8_t>());
  said.timeslice = TimesliceIndex(in.get<std::uint64_t>());
  said.grants = in.get<std::uint16_t>();
  return in.done() && said.kind <= Kind::agreed;
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
      declined_(std::size_t{2} * computes_max * options.open_timeslices),
      agreement_(computes_max) {}

void GrantInput::on_grid(Instant, const RoundGrid& grid) {
  grid_ = grid;
  declined_.clear();
  granted_.clear();
  agreement_.restart(grid.computes);
}

Choice GrantInput::choose(Instant, const SendState& state) {
  Choice wait;
  Choice oldest;
  std::size_t i = 0;
  while (i < granted_.size()) {
    const TimesliceIndex t = granted_[i];
    const Readiness readiness = state.readiness(t);
    const bool over = readiness == Readiness::started || readiness == Readiness::after_end;
    if (over && !declined_.full()) {
      declined_.push_back({t, readiness == Readiness::after_end});
      remove_at(granted_, i);
      continue;
    }
    if (i == 0) wait.timeslice = t;
    ++i;
    if (readiness != Readiness::sendable) continue;
    const bool is_older =
        oldest.kind == Choice::Kind::wait || grid_.round_of(t) < grid_.round_of(oldest.timeslice);
    if (is_older) oldest = {.kind = Choice::Kind::send, .timeslice = t};
  }
  return oldest.kind == Choice::Kind::send ? oldest : wait;
}

void GrantInput::on_started(Instant, TimesliceIndex t) {
  auto* const found = std::find(granted_.begin(), granted_.end(), t);
  if (found != granted_.end()) {
    remove_at(granted_, static_cast<std::size_t>(found - granted_.begin()));
  }
}

void GrantInput::on_message(Instant, std::uint32_t from, std::span<const std::byte> bytes) {
  Said said;
  if (!understand(bytes, said)) return;
  if (said.kind != Kind::grant && said.kind != Kind::grant_and_tell) return;
  agreement_.on_wish(from, said.grants);
  if (said.kind == Kind::grant_and_tell) agreement_.on_listener(from);
  if (!granted_.full() && said.timeslice >= grid_.first) granted_.push_back(said.timeslice);
}

void GrantInput::write_messages(Instant, MessageBox& out) {
  std::size_t done = 0;
  for (const Declined& d : declined_.view()) {
    if (out.full()) break;
    const Kind kind = d.ended ? Kind::ended : Kind::passed;
    say(grid_.compute_of(d.timeslice), {.kind = kind, .timeslice = d.timeslice}, out);
    ++done;
  }
  declined_.drop_front(done);
  while (!out.full()) {
    const auto listener = agreement_.take_untold();
    if (!listener) break;
    say(*listener, {.kind = Kind::agreed, .grants = agreement_.agreed()}, out);
  }
}

GrantCompute::GrantCompute(const GrantOptions& options, std::uint32_t inputs)
    : options_(options),
      inputs_(inputs),
      outstanding_(std::size_t{inputs} * grants_per_input),
      pace_({.min_in_flight = options.min_in_flight,
             .first_in_flight = options.first_in_flight,
             .max_in_flight = options.max_in_flight,
             .first_ahead = options.first_ahead,
             .max_ahead = options.open_timeslices},
            inputs),
      latencies_(latencies_kept, 0) {}

void GrantCompute::on_grid(Instant now, const RoundGrid& grid, std::uint32_t self) {
  grid_ = grid;
  active_ = true;
  outstanding_.clear();
  for (Input& input : inputs_) input = {.up = input.up};
  look_again_ = true;
  self_ = self;
  find_teller();
  pace_.agree(0);
  next_ = self % inputs_.size();
  arrivals_ = 0;
  had_in_flight_ = false;
  pace_.restart(now);
  together_.restart();
}

void GrantCompute::on_input(Instant now, std::uint32_t input, bool up) {
  if (input >= inputs_.size()) return;
  inputs_[input].up = up;
  look_again_ = true;
  find_teller();
  if (up) return;
  for (std::size_t i = outstanding_.size(); i-- > 0;) {
    if (outstanding_[i].input == input) settle(now, input, outstanding_[i].round, false);
  }
}

void GrantCompute::find_teller() {
  // They share the work.
  teller_ = self_ % inputs_.size();
  for (std::size_t n = 1; n < inputs_.size() && !inputs_[teller_].up; ++n) {
    teller_ = (self_ + n) % inputs_.size();
  }
}

void GrantCompute::on_contribution(Instant now, std::uint32_t input, TimesliceIndex t, ByteCount) {
  if (!active_ || t < grid_.first || grid_.compute_of(t) != self_) return;
  const std::uint64_t round = grid_.round_of(t);
  settle(now, input, round, true);
  if (input == pace_.slow()) {
    together_.on_slow_arrival(now, round);
  } else {
    together_.on_arrival(now, round);
  }
  inputs_[input].arrived = std::max(inputs_[input].arrived, round + 1);
  inputs_[input].granted = std::max(inputs_[input].granted, round + 1);
}

void GrantCompute::on_given_up(Instant now, std::uint32_t input, TimesliceIndex below) {
  const TimesliceIndex own = grid_.first.plus(self_);
  if (!active_ || input >= inputs_.size() || below <= own) return;
  // Of its own timeslices, those of the rounds before this one are below.
  const std::uint64_t round = (below.value() - own.value() - 1) / grid_.computes + 1;
  inputs_[input].arrived = std::max(inputs_[input].arrived, round);
  inputs_[input].granted = std::max(inputs_[input].granted, round);
  for (std::size_t i = outstanding_.size(); i-- > 0;) {
    const Outstanding o = outstanding_[i];
    if (o.input == input && o.round < round) settle(now, input, o.round, false);
  }
}

void GrantCompute::on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) {
  Said said;
  if (!active_ || from >= inputs_.size() || !understand(bytes, said)) return;
  if (said.kind == Kind::agreed) pace_.agree(said.grants);
  const bool declines = said.kind == Kind::ended || said.kind == Kind::passed;
  if (!declines || said.timeslice < grid_.first) return;
  Input& input = inputs_[from];
  const std::uint64_t round = grid_.round_of(said.timeslice);
  if (said.kind == Kind::ended) input.ended = std::min(input.ended, round);
  if (round >= input.granted) return;  // nobody asked
  if (said.kind == Kind::passed) input.arrived = std::max(input.arrived, round + 1);
  settle(now, from, round, false);
}

void GrantCompute::settle(Instant now, std::uint32_t input, std::uint64_t round, bool arrived) {
  for (std::size_t i = 0; i < outstanding_.size(); ++i) {
    if (outstanding_[i].input != input || outstanding_[i].round != round) continue;
    const Duration latency = now - outstanding_[i].granted;
    remove_at(outstanding_, i);
    if (!arrived) return;
    ++arrivals_;
    if (latency < Duration{}) {  // the clock was set back in between and tells nothing
      pace_.restart(now);
      return;
    }
    learn(latency);
    pace_.on_arrival(now, latency);
    if (input != pace_.slow() && late_after() != Duration::max() &&
        latency > late_after() * absent_factor) {
      pace_.on_absent_sender(late_after());
    }
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

bool GrantCompute::is_late(Instant granted, Instant now) const {
  return late_after() != Duration::max() && now - granted > late_after();
}

const GrantCompute::Outstanding* GrantCompute::first_not_late(Instant now) const {
  return std::partition_point(outstanding_.begin(), outstanding_.end(),
                              [&](const Outstanding& o) { return is_late(o.granted, now); });
}

std::size_t GrantCompute::in_flight(Instant now) const {
  const auto late = static_cast<std::size_t>(first_not_late(now) - outstanding_.begin());
  // When most are late it is the network that is slow, not a sender.
  const std::size_t forgiven = std::min(late, std::max<std::size_t>(1, inputs_.size() / 2));
  const auto of_slow = std::count_if(first_not_late(now), outstanding_.end(),
                                     [&](const Outstanding& o) { return o.input == pace_.slow(); });
  return outstanding_.size() - forgiven - static_cast<std::size_t>(of_slow);
}

/// The first of those that have come least far. They only get on, so whoever it was stays it until
/// it does so itself, and who is no further then is the next one.
std::size_t GrantCompute::furthest_behind() {
  const auto counts = [](const Input& input) { return input.up && input.arrived < input.ended; };
  const bool is_nobody = behind_ == inputs_.size();
  if (!look_again_ &&
      (is_nobody || (counts(inputs_[behind_]) && inputs_[behind_].arrived == behind_arrived_))) {
    return behind_;
  }
  const std::uint64_t least = std::exchange(look_again_, false) ? 0 : behind_arrived_;
  std::size_t behind = inputs_.size();
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (!counts(input)) continue;
    if (behind == inputs_.size() || input.arrived < inputs_[behind].arrived) behind = i;
    if (input.arrived <= least) break;
  }
  behind_ = behind;
  if (behind < inputs_.size()) behind_arrived_ = inputs_[behind].arrived;
  return behind;
}

bool GrantCompute::may_grant(std::size_t i, Instant now, std::uint64_t end) const {
  const Input& input = inputs_[i];
  if (!input.up || input.granted >= input.ended) return false;
  // Who is slow goes on without a stop, but does not mix up what it has to send.
  const bool is_slow = i == pace_.slow();
  if (input.granted >= end && !is_slow) return false;
  if (input.granted <= input.arrived) return true;
  // Who does not answer is not asked for more.
  return input.granted < input.arrived + grants_per_input && !is_slow && !is_late(input.asked, now);
}

std::size_t GrantCompute::choose(Instant now, std::uint64_t lowest, std::uint64_t end) const {
  std::size_t best = inputs_.size();
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    const std::size_t i = next_ + k < inputs_.size() ? next_ + k : next_ + k - inputs_.size();
    if (best != inputs_.size() && inputs_[i].granted >= inputs_[best].granted) continue;
    if (!may_grant(i, now, end)) continue;
    best = i;
    if (inputs_[i].granted <= lowest) break;  // nobody can be further behind
  }
  return best;
}

void GrantCompute::grant(Instant now, std::size_t i, MessageBox& out) {
  Input& input = inputs_[i];
  const std::uint64_t round = input.granted++;
  input.asked = now;
  const auto to = static_cast<std::uint32_t>(i);
  outstanding_.push_back({.input = to, .round = round, .granted = now});
  if (i != pace_.slow()) together_.on_grant(now, round);
  say(to,
      {.kind = i == teller_ ? Kind::grant_and_tell : Kind::grant,
       .timeslice = grid_.timeslice(round, self_),
       .grants = pace_.wish()},
      out);
  next_ = i + 1 < inputs_.size() ? i + 1 : 0;
}

void GrantCompute::write_messages(Instant now, MessageBox& out) {
  deadline_ = Instant::never();
  const std::size_t behind = active_ ? furthest_behind() : inputs_.size();
  if (behind == inputs_.size()) return;
  std::size_t count = in_flight(now);
  if (had_in_flight_ && arrivals_ > 0 && count == 0) {
    pace_.on_own_absence(looked_, now, arrivals_);
  }
  const std::uint64_t lowest = inputs_[behind].arrived;
  const std::uint64_t end = first_not_open(now, lowest);
  if (slow_ != GrantPace::nobody) {
    while (may_grant(slow_, now, end) && !out.full() && !outstanding_.full())
      grant(now, slow_, out);
  }
  bool held_up = false;
  for (; count < pace_.in_flight() && !out.full() && !outstanding_.full(); ++count) {
    const std::size_t i = choose(now, lowest, end);
    held_up = i == inputs_.size();
    if (held_up) break;
    grant(now, i, out);
  }
  if (held_up && count < pace_.enough()) {
    const bool waits = end < lowest + pace_.ahead();
    pace_.on_held_up(now, waits ? slow_ : behind);
  } else {
    pace_.on_free(now);
  }
  looked_ = now;
  arrivals_ = 0;
  had_in_flight_ = count > 1;
  // A grant that turns late frees its place.
  const Outstanding* const next = first_not_late(now);
  if (late_after() != Duration::max() && next != outstanding_.end()) {
    deadline_ = std::min(deadline_, next->granted + late_after() + Duration(1));
  }
}

std::uint64_t GrantCompute::first_not_open(Instant now, std::uint64_t lowest) {
  if (std::exchange(slow_, pace_.slow()) != pace_.slow()) together_.restart();
  const std::uint64_t end = lowest + pace_.ahead();
  if (slow_ == GrantPace::nobody) return end;
  for (std::uint64_t round = lowest; round < end; ++round) {
    const Instant opens = together_.opens(round);
    if (opens <= now) continue;
    deadline_ = opens;
    return round;
  }
  return end;
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
