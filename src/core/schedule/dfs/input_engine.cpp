// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/dfs/input_engine.hpp"

#include <algorithm>
#include <variant>

#include "core/schedule/dfs/arithmetic.hpp"

namespace weft::schedule::dfs {

namespace {

// Records that nobody takes; the oldest go first.
constexpr std::size_t records_kept = 64;
// A proposal this many intervals ahead is none of ours.
constexpr std::uint64_t farthest_proposal = 1 << 16;

}  // namespace

InputEngine::InputEngine(const DfsOptions& options, std::uint32_t input, std::uint32_t computes_max)
    : options_(options),
      input_(input),
      computes_max_(computes_max),
      next_round_(computes_max),
      acknowledgements_(std::max(options.timeslices_per_interval, computes_max),
                        options.acknowledgement_threshold_percent),
      records_(records_kept) {
  WEFT_CHECK(computes_max > 0);
}

std::uint32_t InputEngine::engines() const {
  const std::uint32_t computes = grid_.computes();
  return options_.engines == 0 ? computes : std::min(options_.engines, computes);
}

// II.A: each input transmits to a different compute node at a time.
std::uint32_t InputEngine::compute_at(std::uint32_t step) const {
  const std::uint32_t computes = grid_.computes();
  return (input_ % computes + step) % computes;
}

std::uint32_t InputEngine::step_of(std::uint32_t compute) const {
  const std::uint32_t computes = grid_.computes();
  return (compute + computes - input_ % computes) % computes;
}

void InputEngine::on_grid(Instant now, const RoundGrid& grid) {
  WEFT_CHECK(grid.computes > 0 && grid.computes <= computes_max_, "{} compute nodes, at most {}",
             grid.computes, computes_max_);
  grid_ = IntervalGrid(grid, options_.timeslices_per_interval);
  has_grid_ = true;
  grid_taken_ = now;
  end_ = TimesliceIndex::max();
  current_ = grid_.first_id();
  running_ = false;
  previous_ended_ = now;
  forget_progress();
  book_.on_grid();
  acknowledgements_.reset(engines(), grid_.rounds());
  hello_next_ = 0;
  report_next_ = 0;
}

void InputEngine::forget_progress() {
  std::fill_n(next_round_.begin(), grid_.computes(), 0u);
  position_ = 0;
  scan_ = 0;
  started_ = 0;
  skipped_ = 0;
}

InputEngine::Pace InputEngine::pace_for_start(Instant now) const {
  const Guidance guidance = book_.guidance(current_);
  if (!guidance.guided) return {};
  Pace pace{.guided = true, .start = now, .late_at = {}, .duration = guidance.duration};
  if (guidance.start_known) {
    const Wide longest_wait = Wide{guidance.spacing.ticks()} * options_.start_wait_limit;
    const Instant latest(saturated(previous_ended_.ticks() + longest_wait));
    pace.start = std::min(guidance.start, latest);
  }
  pace.late_at = pace.start + pace.duration;
  return pace;
}

Choice InputEngine::choose(Instant now, const SendState& state) {
  if (!has_grid_) return {};
  for (;;) {
    const TimesliceIndex first = timeslice_at_start();
    if (grid_.first_timeslice(current_) >= end_) return {.timeslice = first};
    Pace pace = pace_;
    if (!running_) {
      if (!acknowledgements_.may_start(current_)) return {.timeslice = first};
      pace = pace_for_start(now);
      if (pace.guided && now < pace.start) return {.timeslice = first, .ask_again = pace.start};
    }
    const bool paced = pace.guided && now < pace.late_at;
    const auto choice = paced ? choose_paced(now, pace, state) : choose_best_effort(state);
    if (choice) return *choice;
    end_interval(now);  // the rest of it is past the stream's end or was sent before
  }
}

// Contributions go strictly in offset order, each at its time: one that cannot go yet is waited
// for, until the interval is late.
std::optional<Choice> InputEngine::choose_paced(Instant now, const Pace& pace,
                                                const SendState& state) {
  const std::uint32_t computes = grid_.computes();
  while (position_ < grid_.contributions()) {
    const auto round = static_cast<std::uint32_t>(position_ / computes);
    const auto step = static_cast<std::uint32_t>(position_ % computes);
    const std::uint32_t compute = compute_at(step);
    if (next_round_[compute] > round) {  // passed over before the interval started
      ++position_;
      continue;
    }
    const TimesliceIndex t = grid_.timeslice(current_, round, compute);
    if (t < end_) {
      const Instant due = running_ ? rounds_.due(round, step, computes) : now;
      if (now < due) return Choice{.timeslice = t, .ask_again = std::min(due, pace.late_at)};
      const Readiness readiness = state.readiness(t);
      if (readiness == Readiness::sendable) return Choice{Choice::Kind::send, t, Instant::never()};
      if (readiness == Readiness::after_end) {
        end_ = t;
      } else if (readiness != Readiness::started) {
        return Choice{.timeslice = t, .ask_again = pace.late_at};
      }
    }
    if (step == 0) rounds_.begin_round(round, now);
    skip(compute);
    ++position_;
  }
  return std::nullopt;
}

// Round robin over the compute nodes from the one after the last served; per compute node in order.
std::optional<Choice> InputEngine::choose_best_effort(const SendState& state) {
  std::optional<Choice> first_blocked;
  std::uint32_t blocked_count = 0;
  for (std::uint32_t n = 0; n < grid_.computes(); ++n) {
    const std::uint32_t compute = compute_at((scan_ + n) % grid_.computes());
    bool blocked = false;
    const auto choice = choose_for(compute, state, blocked);
    if (choice && !blocked) return choice;
    if (!choice) continue;
    if (!first_blocked) first_blocked = choice;
    if (++blocked_count == options_.best_effort_lookahead) break;
  }
  return first_blocked;
}

// The next contribution for one compute node: to be sent, or blocked; none when the interval has no
// more for it.
std::optional<Choice> InputEngine::choose_for(std::uint32_t compute, const SendState& state,
                                              bool& blocked) {
  while (next_round_[compute] < grid_.rounds()) {
    const TimesliceIndex t = grid_.timeslice(current_, next_round_[compute], compute);
    if (t < end_) {
      const Readiness readiness = state.readiness(t);
      if (readiness == Readiness::sendable) return Choice{Choice::Kind::send, t, Instant::never()};
      if (readiness == Readiness::after_end) {
        end_ = t;
      } else if (readiness != Readiness::started) {
        blocked = true;
        return Choice{.timeslice = t};
      }
    }
    skip(compute);
  }
  return std::nullopt;
}

void InputEngine::skip(std::uint32_t compute) {
  ++next_round_[compute];
  ++skipped_;
}

void InputEngine::on_started(Instant now, TimesliceIndex t) {
  WEFT_CHECK(grid_.contains(t) && grid_.interval_of(t) == current_, "timeslice {} was not chosen",
             t.value());
  if (!running_) begin_interval(now);
  const std::uint32_t round = grid_.round_of(t);
  const std::uint32_t compute = grid_.compute_of(t);
  const std::uint32_t step = step_of(compute);
  WEFT_CHECK(next_round_[compute] == round, "timeslice {} is out of order", t.value());
  ++next_round_[compute];
  ++started_;
  if (position_ == std::uint64_t{round} * grid_.computes() + step) ++position_;
  if (step == 0) rounds_.begin_round(round, now);
  scan_ = (step + 1) % grid_.computes();
  if (started_ + skipped_ == grid_.contributions()) end_interval(now);
}

void InputEngine::begin_interval(Instant now) {
  pace_ = pace_for_start(now);
  running_ = true;
  rounds_ = RoundClock(now, pace_.duration, grid_.rounds());
  acknowledgements_.open(current_, now, pace_.duration);
}

void InputEngine::end_interval(Instant now) {
  if (running_) acknowledgements_.all_started(current_, started_, skipped_ == 0);
  ++current_;
  running_ = false;
  previous_ended_ = now;
  forget_progress();
}

void InputEngine::on_acknowledged(Instant now, TimesliceIndex t, Duration latency) {
  if (!has_grid_ || !grid_.contains(t)) return;
  acknowledgements_.acknowledged(now, grid_.interval_of(t), grid_.compute_of(t), latency);
}

void InputEngine::on_message(Instant now, std::uint32_t from, std::span<const std::byte> bytes) {
  (void)now;
  (void)from;  // engines are replicas: the order of their proposals does not matter
  const AnyMessage message = decode(bytes);
  const auto* proposal = std::get_if<Proposal>(&message);
  if (proposal == nullptr || !has_grid_) return;
  const bool same_grid = proposal->grid_first == grid_.rounds_grid().first;
  if (!same_grid || proposal->rounds != grid_.rounds()) return;
  if (proposal->interval > current_.plus(farthest_proposal)) return;
  if (proposal->first_timeslice != grid_.first_timeslice(proposal->interval)) return;
  book_.add(*proposal);
}

void InputEngine::write_messages(Instant now, MessageBox& out) {
  if (!has_grid_) return;
  write_hellos(out);
  write_reports(now, out);
}

void InputEngine::write_hellos(MessageBox& out) {
  for (; hello_next_ < engines() && !out.full(); ++hello_next_) {
    Message message;
    message.to = hello_next_;
    encode(Hello{.grid_first = grid_.rounds_grid().first, .start = grid_taken_}, message);
    out.push_back(message);
  }
}

void InputEngine::write_reports(Instant now, MessageBox& out) {
  while (const CompletedInterval* done = acknowledgements_.completed()) {
    for (; report_next_ < engines(); ++report_next_) {
      if (out.full()) return;
      const Duration round_trip = acknowledgements_.median_latency(done->id, report_next_);
      const Duration one_way(scale(round_trip.ticks(),
                                   basis_points(options_.one_way_latency_percent),
                                   whole_in_basis_points));
      Message message;
      message.to = report_next_;
      encode(Report{.grid_first = grid_.rounds_grid().first,
                    .interval = done->id,
                    .start = done->start,
                    .duration = done->end - done->start,
                    .proposed = done->proposed,
                    // Time spent here after the interval's end delays the report like the network.
                    .latency = one_way + (now - done->end),
                    .requested = requested_after(done->id)},
             message);
      out.push_back(message);
    }
    report_next_ = 0;
    keep_record(*done);
    acknowledgements_.dismiss(done->id);
  }
}

IntervalId InputEngine::requested_after(IntervalId reported) const {
  const IntervalId next = running_ ? current_.plus(1) : current_;
  return std::max(reported.plus(options_.request_distance), next);
}

void InputEngine::keep_record(const CompletedInterval& done) {
  if (records_.full()) records_.drop_front(1);
  records_.push_back({.id = done.id,
                      .start = done.start,
                      .proposed = done.proposed,
                      .actual = done.end - done.start});
}

void InputEngine::take_intervals(FixedVec<IntervalRecord>& out) {
  const std::size_t n = std::min(out.room(), records_.size());
  for (std::size_t i = 0; i < n; ++i) out.push_back(records_[i]);
  records_.drop_front(n);
}

}  // namespace weft::schedule::dfs
