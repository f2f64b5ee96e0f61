// SPDX-License-Identifier: Apache-2.0
// The compute node's part; the input node's is in grant_input.cpp.
#include "core/schedule/grant.hpp"

#include <limits>
#include <utility>

#include "core/schedule/grant_messages.hpp"

namespace weft::schedule {
namespace {

constexpr std::size_t latencies_kept = 63;
/// An input node that answers only after so many times the late time was absent, not queued.
constexpr std::int64_t absent_factor = 3;
/// A grant older than this is late, however large the factor: the product has to fit.
constexpr Duration latest = Duration::seconds(24 * 3600);
/// An input node may have so many times its share of the grants that are out, but always two: the
/// next one is there when it has served the last.
constexpr std::uint64_t shares_per_input = 2;
/// A grant waits until it adds this part of an input node's share, or as much is left of it.
constexpr std::uint64_t grants_per_share = 4;
/// When the path holds more rounds than this, each takes so much less than the path's own time that
/// a spread of several is still shorter than that: input nodes may then be so many times as far
/// apart. With less they go in bursts, since each burst of grants waits for the last of them.
constexpr double many_rounds = 4;
constexpr std::uint64_t distance_of_many = 3;

/// Contributions that have come are looked at after so long even if they are few.
constexpr Duration longest_without_look = Duration::milliseconds(1);
/// Bytes that are out of small contributions, at least where they come fast (GrantPace): with less,
/// too many messages would go with them.
constexpr double least_window = 96 << 10;

}  // namespace

GrantCompute::GrantCompute(const GrantOptions& options, std::uint32_t inputs)
    : options_(options),
      inputs_(inputs),
      pace_({.min_in_flight = options.min_in_flight,
             .first_in_flight = options.first_in_flight,
             .max_in_flight = options.max_in_flight,
             .begins_full = options.begins_full,
             .first_ahead = options.first_ahead,
             .max_ahead = options.open_timeslices},
            inputs),
      step_(inputs),
      latencies_(latencies_kept, 0) {
  holding_up_.reserve(inputs);
}

void GrantCompute::on_grid(Instant now, const RoundGrid& grid, std::uint32_t self) {
  grid_ = grid;
  active_ = true;
  for (Input& input : inputs_) {
    input.granted = input.told = options_.first_rounds;
    input.arrived = 0;
    input.ended = none;
    input.batches.clear();
    input.batches.push_back({.until = options_.first_rounds, .at = now, .solicited = false});
  }
  look_again_ = true;
  self_ = self;
  find_teller();
  pace_.agree(0);
  next_ = self % inputs_.size();
  arrivals_ = came_ = 0;
  had_in_flight_ = 0;
  pace_.begin_view(now);
  latencies_seen_ = 0;
  late_after_ = Duration::max();
  together_.restart();
  step_.restart();
  slow_round_ = 0;
}

void GrantCompute::on_input(Instant, std::uint32_t input, bool up) {
  if (input >= inputs_.size()) return;
  inputs_[input].up = up;
  pace_.forget(input);
  step_.forget(input);
  look_again_ = true;
  find_teller();
}

void GrantCompute::find_teller() {
  // They share the work.
  teller_ = self_ % inputs_.size();
  for (std::size_t n = 1; n < inputs_.size() && !inputs_[teller_].up; ++n) {
    teller_ = (self_ + n) % inputs_.size();
  }
}

void GrantCompute::on_contribution(Instant now, std::uint32_t i, TimesliceIndex t,
                                   ByteCount bytes) {
  if (!active_ || t < grid_.first) return;
  Input& input = inputs_[i];
  std::uint64_t round = input.arrived;
  if (t != grid_.timeslice(round, self_)) {  // mostly it is the next one, and divisions take time
    if (grid_.compute_of(t) != self_) return;
    round = grid_.round_of(t);
    if (round < input.arrived) return;
    settle(input, round);  // those between never come
  }
  ++came_;
  if (largest_ + largest_ < bytes) pace_.forget_least();
  largest_ = std::max(largest_, bytes);
  if (!input.batches.empty()) {
    learn(now, input, {.of_slow = pace_.is_slow(i), .is_small = bytes + bytes < largest_});
  }
  note_size(static_cast<double>(bytes.value()));
  settle(input, round + 1);
  if (pace_.is_slow(i)) {
    note_slow(now);
  } else {
    together_.on_arrival(now, round);
  }
}

void GrantCompute::note_size(double bytes) {
  if (bytes == mean_bytes_ && bytes > 0) return;  // mostly all are alike, and divisions take time
  mean_bytes_ += (bytes - mean_bytes_) / (mean_bytes_ == 0 ? 1 : 16);
  pace_.set_least(static_cast<std::uint32_t>(least_window / std::max(mean_bytes_, 1.0)));
  pace_.set_first(static_cast<std::uint32_t>(static_cast<double>(options_.first_window) /
                                             std::max(mean_bytes_, 1.0)));
  pace_.set_most(rings_hold());
}

/// Contributions below that round have come, or will not come.
void GrantCompute::settle(Input& input, std::uint64_t round) {
  input.arrived = std::max(input.arrived, round);
  input.told = std::max(input.told, round);
  input.granted = std::max(input.granted, round);
  if (input.batches.empty() || input.batches[0].until > input.arrived) return;
  const auto waits = [&](const Batch& batch) { return batch.until > input.arrived; };
  input.batches.erase(input.batches.begin(), std::ranges::find_if(input.batches, waits));
}

/// A round counts as delivered by slow input nodes when all of them have.
void GrantCompute::note_slow(Instant now) {
  std::uint64_t least = none;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (input.up && pace_.is_slow(i) && input.arrived < input.ended) {
      least = std::min(least, input.arrived);
    }
  }
  if (least == none || least <= slow_round_) return;
  slow_round_ = least;
  together_.on_slow_arrival(now, least - 1);
}

void GrantCompute::on_given_up(Instant, std::uint32_t input, TimesliceIndex below) {
  const TimesliceIndex own = grid_.first.plus(self_);
  if (!active_ || input >= inputs_.size() || below <= own) return;
  out_fills_rings_ = false;
  // The compute node's own timeslices below are those of the rounds before this one.
  settle(inputs_[input], (below.value() - own.value() - 1) / grid_.computes + 1);
}

void GrantCompute::on_message(Instant, std::uint32_t from, std::span<const std::byte> bytes) {
  GrantMessage said;
  if (!active_ || from >= inputs_.size() || !decode(bytes, said)) return;
  out_fills_rings_ = false;
  Input& input = inputs_[from];
  if (said.kind == GrantKind::agreed) pace_.agree(said.number);
  if (said.kind == GrantKind::ended) input.ended = std::min(input.ended, said.round);
  // Nothing is passed over that nobody asked for.
  if (said.kind == GrantKind::passed && said.round <= input.granted) settle(input, said.round);
}

/// A grant covers all before it: the next one repeats what was lost.
void GrantCompute::on_reconnected(std::uint32_t i) {
  if (!active_ || i >= inputs_.size()) return;
  Input& input = inputs_[i];
  input.told = std::max(input.arrived, std::min(input.told, options_.first_rounds));
  std::erase_if(input.batches, [](const Batch& batch) { return batch.solicited; });
  out_fills_rings_ = false;
}

void GrantCompute::learn(Instant now, Input& input, Arrival arrival) {
  const Batch& batch = input.batches[0];
  if (!batch.solicited) return;
  const Duration latency = now - batch.at;
  ++arrivals_;
  ++input.seen;
  input.share = std::max(input.share, batch.share);
  if (latency < Duration{}) {  // the clock was set back in between and tells nothing
    pace_.restart(now);
    return;
  }
  if (!arrival.of_slow && late_after_ != Duration::max() && latency > late_after_ * absent_factor) {
    pace_.on_absent_sender(late_after_);
  }
  latencies_[latencies_seen_++ % latencies_kept] = latency.ticks();
  pace_.on_arrival(now, latency, arrival.is_small);
  const std::size_t n = std::min(latencies_seen_, latencies_kept);
  // The median moves slowly: looking at it now and then is enough.
  if (n < 8 || latencies_seen_ % (n < latencies_kept ? 8 : latencies_kept) != 0) return;
  std::int64_t sorted[latencies_kept];
  std::copy_n(latencies_.begin(), n, sorted);
  std::nth_element(sorted, sorted + n / 2, sorted + n);
  const Duration usual(sorted[n / 2]);
  if (usual == Duration{}) {
    late_after_ = Duration::max();
  } else {
    late_after_ = options_.late_factor > latest / usual ? latest : usual * options_.late_factor;
  }
}

Instant GrantCompute::late_at(const Input& input, const Standing& standing) const {
  if (standing.late_after == Duration::max() || input.batches.empty()) return Instant::never();
  const Batch& batch = input.batches[0];
  // Several rounds that nobody asked for take as long as they take.
  if (!batch.solicited && options_.first_rounds > 1) return Instant::never();
  return batch.at + standing.late_after + Duration(1);
}

bool GrantCompute::is_late(const Input& input, Instant now, const Standing& standing) const {
  return late_at(input, standing) <= now;
}

/// Twice the rings' capacity: a grant waits until it is worth a message, which is a quarter of a
/// share, and for a look, which is worth an eighth. With less than these to spare, room in the
/// rings would go unused. Credit keeps input nodes from writing more.
std::uint32_t GrantCompute::rings_hold() const {
  std::uint64_t each = options_.pair_descriptors;
  if (mean_bytes_ > 0) {
    each = std::min(
        each, static_cast<std::uint64_t>(static_cast<double>(options_.pair_bytes) / mean_bytes_));
  }
  each = std::max<std::uint64_t>(1, each + each);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(each * inputs_.size(), std::numeric_limits<std::uint32_t>::max()));
}

/// The first of the input nodes that are furthest behind. They only advance, so the answer holds
/// until that node advances; the next one as far back then follows.
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

GrantCompute::Standing GrantCompute::standing(Instant now, std::uint64_t lowest) {
  const std::uint64_t window = pace_.in_flight();
  const std::size_t n = inputs_.size();
  const bool has_many_rounds = pace_.path_holds() > many_rounds * static_cast<double>(n);
  const std::uint64_t apart = window / n * (has_many_rounds ? distance_of_many : 1);
  Standing standing{.lowest = lowest, .end = lowest + pace_.ahead() + apart};
  standing.share = std::max<std::uint64_t>(1, window / n);
  step_.begin_look(now, lowest, pace_.path_holds(), window);
  standing.end_in_step = lowest + std::min(step_.rounds(), standing.end - lowest);
  // Where credit decides, a grant waits for room in the ring and not for its input node.
  if (!pace_.fills_rings()) standing.late_after = late_after_;
  if (std::exchange(slow_, pace_.slow_inputs()) != pace_.slow_inputs()) together_.restart();
  for (std::uint64_t round = lowest; slow_ > 0 && round < standing.end; ++round) {
    const Instant opens = together_.opens(round);
    if (opens <= now) continue;
    deadline_ = std::min(deadline_, opens);
    standing.end = round;
    standing.end_in_step = std::min(standing.end_in_step, round);
    standing.waits_for_slow = true;
  }
  // When most are late it is the network that is slow, not a sender.
  std::size_t forgiven = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Input& input = inputs_[i];
    if (!input.up) continue;
    step_.on_look(i, std::min(input.arrived, input.ended) - std::min(lowest, input.ended));
    if (input.out() == 0) continue;
    standing.is_lowest_asked = standing.is_lowest_asked || input.arrived == lowest;
    if (pace_.is_slow(i)) continue;
    if (is_late(input, now, standing) && forgiven < std::max<std::size_t>(1, n / 2)) {
      ++forgiven;
      continue;
    }
    standing.out += input.out();
    // A grant that turns late frees its place.
    const Instant late = late_at(input, standing);
    if (late > now) deadline_ = std::min(deadline_, late);
  }
  return standing;
}

std::uint64_t GrantCompute::may_grant(std::size_t i, Instant now, const Standing& standing) const {
  const Input& input = inputs_[i];
  const std::uint64_t end =
      std::min(input.ended, step_.is_ahead(i) ? standing.end_in_step : standing.end);
  if (!input.up || pace_.is_slow(i) || input.granted >= end) return 0;
  const std::uint64_t most = shares_per_input * standing.share;
  const std::uint64_t out = input.out();
  // An input node that does not answer gets no more grants.
  if (out >= most || (out > 0 && is_late(input, now, standing))) return 0;
  return std::min(end - input.granted, most - out);
}

GrantCompute::Level GrantCompute::lowest_level(Instant now, const Standing& standing) const {
  Level level;
  std::uint64_t next = none;  // the lowest of the others
  std::uint64_t may = none;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const std::uint64_t granted = inputs_[i].granted;
    if (granted > level.round && granted >= next) continue;
    const std::uint64_t more = may_grant(i, now, standing);
    if (more == 0) continue;
    if (granted < level.round) {
      next = level.round;
      level = {.round = granted, .inputs = 1};
      may = more;
    } else if (granted == level.round) {
      ++level.inputs;
      may = std::min(may, more);
    } else {
      next = granted;
    }
  }
  level.rounds = std::min(may, next - level.round);
  return level;
}

/// Whether an input node would get grants if it did not have to wait: then that is why the node is
/// held up, and not the last input node.
bool GrantCompute::waits_in_step(const Standing& standing) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    if (input.up && step_.is_ahead(i) && !pace_.is_slow(i) &&
        input.granted >= standing.end_in_step &&
        input.granted < std::min(input.ended, standing.end)) {
      return true;
    }
  }
  return false;
}

/// Grants to the input nodes that are furthest behind first, and as many rounds at once as the
/// window has places for. After the window has shrunk, grants beyond the oldest timeslice may fill
/// it while they wait for room that only that timeslice frees: one of the input nodes that hold it
/// up then gets a grant beyond the window.
bool GrantCompute::grant(Instant now, std::uint64_t window, Standing& standing) {
  const auto may_be_more = [&](std::uint64_t round) {
    return standing.out < window || (!standing.is_lowest_asked && round == standing.lowest);
  };
  while (may_be_more(standing.lowest)) {
    const Level level = lowest_level(now, standing);
    if (level.inputs == 0) return false;
    if (!may_be_more(level.round)) break;
    const std::uint64_t places = window - std::min(window, standing.out);
    const std::uint64_t rounds = std::clamp<std::uint64_t>(places / level.inputs, 1, level.rounds);
    // Downwards: so each input node is asked by one compute node after the other, upwards.
    std::size_t i = next_;
    for (std::size_t k = 0; k < inputs_.size() && may_be_more(level.round); ++k) {
      const std::size_t after = i == 0 ? inputs_.size() - 1 : i - 1;
      if (inputs_[i].granted == level.round && may_grant(i, now, standing) > 0) {
        inputs_[i].granted += rounds;
        standing.out += rounds;
        standing.is_lowest_asked = standing.is_lowest_asked || level.round == standing.lowest;
        next_ = after;
      }
      i = after;
    }
    together_.on_grant(now, level.round + rounds - 1);
  }
  return true;
}

/// A slow input node goes on without a stop: it has its share of the grants that are out, even
/// while the others wait.
void GrantCompute::grant_slow(const Standing& standing) {
  const std::uint64_t places = standing.share;
  for (std::size_t i = 0; i < inputs_.size() && slow_ > 0; ++i) {
    Input& input = inputs_[i];
    if (!input.up || !pace_.is_slow(i)) continue;
    const std::uint64_t most = std::min(
        {input.arrived + places, input.ended, standing.lowest + places + options_.open_timeslices});
    input.granted = std::max(input.granted, most);
  }
}

/// Contributions that come together while links decide are those of one grant: at most a quarter of
/// the share that an input node had when the grant was written. A whole share of one input node at
/// a look, or all that is out, came while this node had no processor; their senders may have used
/// up their grants meanwhile.
void GrantCompute::note_starved(const Standing& standing) {
  std::uint64_t starved = 0;
  for (Input& input : inputs_) {
    const std::uint64_t seen = std::exchange(input.seen, 0);
    const std::uint64_t share = std::max(standing.share, std::exchange(input.share, 0));
    if (seen >= std::max<std::uint64_t>(2, share)) starved += seen;
  }
  if (standing.out == 0 && arrivals_ >= 2) starved = arrivals_;
  pace_.on_starved_senders(starved);
}

void GrantCompute::held_up(Instant now, const Standing& standing) {
  holding_up_.clear();
  for (std::uint32_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    const bool is_behind =
        input.up && input.arrived < input.ended && input.arrived == standing.lowest;
    if (standing.waits_for_slow ? pace_.is_slow(i) : is_behind) holding_up_.push_back(i);
  }
  pace_.on_held_up(now, holding_up_);
}

/// With the rings' worth out there is time: a look at all input nodes for every few contributions
/// would cost a tenth of a processor, and their grants would not be worth a message yet.
bool GrantCompute::can_wait(Instant now) const {
  return out_fills_rings_ && !look_again_ && came_ < worth_a_look_ &&
         now - looked_ < longest_without_look;
}

void GrantCompute::write_messages(Instant now, MessageBox& out) {
  if (can_wait(now)) {
    deadline_ = came_ == 0 ? Instant::never() : looked_ + longest_without_look;
    return;
  }
  deadline_ = Instant::never();
  const std::size_t behind = active_ ? furthest_behind() : inputs_.size();
  if (behind == inputs_.size()) return;
  Standing state = standing(now, inputs_[behind].arrived);
  if (arrivals_ > 0 && state.out == 0) {
    if (had_in_flight_ > 1) {
      pace_.on_own_absence(looked_, now, arrivals_);
    } else if (had_in_flight_ == 1) {
      pace_.on_alone(arrivals_);
    }
  }
  note_starved(state);
  grant_slow(state);
  const std::uint64_t window = pace_.in_flight();
  const bool is_held_up = !grant(now, window, state);
  if (is_held_up && state.out < pace_.enough() && !waits_in_step(state)) {
    held_up(now, state);
  } else {
    pace_.on_free(now);
  }
  tell(now, window, out);
  looked_ = now;
  arrivals_ = came_ = 0;
  had_in_flight_ = state.out;
  out_fills_rings_ = !is_held_up && slow_ == 0 && !out.full() && pace_.fills_rings();
  worth_a_look_ = state.share / (2 * grants_per_share);
}

void GrantCompute::tell(Instant now, std::uint64_t window, MessageBox& out) {
  const std::uint64_t step =
      std::max<std::uint64_t>(1, window / (grants_per_share * inputs_.size()));
  for (std::size_t i = 0; i < inputs_.size() && !out.full(); ++i) {
    Input& input = inputs_[i];
    if (!input.up || input.granted <= input.told) continue;
    if (input.granted - input.told < step && input.told - input.arrived > step) continue;
    if (input.batches.size() == batches_kept) {
      input.batches.back().until = input.granted;
    } else {
      input.batches.push_back(
          {.until = input.granted, .at = now, .share = window / inputs_.size()});
    }
    input.told = input.granted;
    const GrantKind kind = i == teller_ ? GrantKind::grant_and_tell : GrantKind::grant;
    encode(static_cast<std::uint32_t>(i),
           {.kind = kind, .round = input.told, .number = pace_.wish()}, out);
  }
}

std::unique_ptr<ComputeSchedule> make_grant_compute(const GrantOptions& options,
                                                    std::uint32_t inputs) {
  return std::make_unique<GrantCompute>(options, inputs);
}

}  // namespace weft::schedule
