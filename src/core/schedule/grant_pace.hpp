// SPDX-License-Identifier: Apache-2.0
// GrantPace: how many contributions a compute node of the grant schedule has in flight, and how far
// ahead of the last input node it lets the others run. Both numbers follow from what the node
// observes; nothing is configured. docs/schedules.md has the reasoning, and
// docs/schedules-measured.md the measurements.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/schedule/grant_agreement.hpp"
#include "core/schedule/grant_relief.hpp"
#include "weft/time.hpp"

namespace weft::schedule {

/// Limits and first values; GrantOptions explains them.
struct PaceOptions {
  std::uint32_t min_in_flight = 1;
  std::uint32_t first_in_flight = 4;
  std::uint32_t max_in_flight = 1 << 16;
  bool begins_full = false;
  std::uint32_t first_ahead = 2;  ///< timeslices, from the oldest incomplete one on
  std::uint32_t max_ahead = 16;
  /// So many periods are short at first, so that the number in flight soon grows to the path's
  /// capacity.
  std::uint32_t short_periods = 10;
};

/// A number that grows as soon as it has to and shrinks in times of calm. If it grows again after
/// it has shrunk, it shrank too early, and then requires twice the calm before it shrinks again.
class ReluctantNumber {
 public:
  ReluctantNumber(std::uint32_t least, std::uint32_t most);
  std::uint32_t value() const { return value_; }
  /// Grows to `to`, within the limits; does nothing when that is not more.
  void grow(std::uint32_t to);
  /// A period has passed in which a smaller number would have done. Returns whether it shrank.
  bool calm();
  /// A period has passed in which a smaller number would not have done.
  void busy() { calm_ = 0; }
  /// Shrinks to `to`, since growing beyond it was of no use.
  void take_back(std::uint32_t to) { value_ = std::clamp(to, least_, value_); }
  /// Sets the longest calm that the number ever requires: `periods`, or 48 if that is more.
  void set_most_patience(std::uint32_t periods) {
    most_patience_ = std::max(periods, usual_most_patience);
  }

 private:
  static constexpr std::uint32_t least_patience = 3;  // periods
  static constexpr std::uint32_t usual_most_patience = 48;

  std::uint32_t least_;
  std::uint32_t most_;
  std::uint32_t value_;
  std::uint32_t calm_ = 0;
  std::uint32_t patience_ = least_patience;
  std::uint32_t most_patience_ = usual_most_patience;
  std::uint32_t asked_ = least_patience;  // `patience_` when the number began to shrink
  std::uint32_t shrunk_ = 0;              // how often it has shrunk since it grew
};

/// An input node is absent when it does not run for a while; so is the compute node itself.
///
/// In flight: the path holds as many contributions, when nothing queues, as the best rate of the
/// latest periods times the shortest time from a grant to its contribution. The node wishes for
/// some more, so that every stage of the path has a contribution on its way. As long as the path
/// holds more than is in flight, the rate grows with the number, and the number with the rate, each
/// period. The node adds
///  - the places that grants to absent input nodes took;
///  - enough to last through its own absences, when they cost it time;
///  - more on trial, when it finds again and again that all it asked for is there: then wake-ups
///    may be the bottleneck and not links. It takes the addition back unless it makes the node
///    faster;
///  - as many as the rings allow, on trial, when the path is idle for part of the time: then nodes
///    decide the pace, which take turns on their processors, and periods last several turns;
///  - as many as the rings allow, from the first contribution on, when nodes are known to decide
///    (PaceOptions::begins_full): to find it out would take a hundred milliseconds;
///  - more, as long as that makes the node faster, when most contributions come while the node has
///    no processor, since their senders then use up their grants (GrantRelief).
/// The number on which all compute nodes agree (GrantAgreement) overrides the node's wish. Now and
/// then the number goes below the path's capacity for a period, to measure the shortest time
/// without the node's own queue. With a single input node no senders can collide, so the
/// largest number is in flight: the rings' credit decides, and one message grants thousands.
///
/// Ahead: the others may run further ahead when stragglers left so few grants to give that the
/// node's link ran dry for more than a twentieth of the time, twice in a row, and when different
/// stragglers did so. They may run less far ahead when the link hardly ever ran dry. Input nodes
/// that are always behind are slow: to run ahead of them gains nothing, and fills buffers, so the
/// others keep to their timeslice.
///
/// A machine without I/O; one thread.
class GrantPace {
 public:
  GrantPace(const PaceOptions& options, std::size_t inputs);

  /// Returns how many contributions are to be in flight now.
  std::uint32_t in_flight() const;
  /// Returns the number in flight below which the node's link runs dry.
  std::uint32_t enough() const { return enough_; }
  /// Returns how many contributions the path holds when nothing queues; 1 before it is measured.
  double path_holds() const { return path_; }
  /// Returns how many timeslices, from the oldest incomplete one on, the node grants besides the
  /// rounds in flight.
  std::uint32_t ahead() const { return any_slow() ? 1 : ahead_.value(); }
  /// Returns how many contributions the node would like to have in flight; zero before the path is
  /// measured.
  Wish wish() const { return wish_; }
  /// Sets the least number in flight, below which messages would grant too little each. Where fewer
  /// contributions come within 400 us there is time for more messages, and the least number is that
  /// of 400 us.
  void set_least(std::uint32_t grants) { least_ = grants; }
  /// Sets the number in flight before the path is measured, if the options do not say more.
  void set_first(std::uint32_t grants) { first_ = grants; }
  /// Sets the most in flight that the pairs' rings allow.
  void set_most(std::uint32_t grants) {
    most_ = std::max(1u, grants);
    if (options_.begins_full && periods_ == 0) cover_.grow(most_);
  }
  /// Returns whether as many are in flight as the rings allow, so that credit decides.
  bool fills_rings() const { return in_flight() >= most_; }
  /// Sets the number in flight on which the compute nodes have agreed; zero: they have not.
  void agree(std::uint32_t grants) { agreed_ = grants; }
  bool is_slow(std::size_t input) const { return suspects_[input].slow; }
  bool any_slow() const { return slow_ > 0; }
  std::size_t slow_inputs() const { return slow_; }
  /// Returns the shortest time from a grant to its contribution; `max()` before it is measured.
  Duration shortest() const { return std::min(shortest_, shortest_before_); }

  /// The input node has left or come back, so what was measured of it no longer counts.
  void forget(std::size_t input);

  /// A contribution has arrived `since_grant` after its grant; not less than zero. A small one,
  /// less than the mean, tells little of the time that links take.
  void on_arrival(Instant now, Duration since_grant, bool is_small = false);
  /// A contribution has arrived so late that its sender must have been absent. Its grant took a
  /// place in vain for `held`.
  void on_absent_sender(Duration held) { taken_ += held; }
  /// The node did not look between `before` and `now`. Then everything that it had asked for,
  /// `arrivals` contributions, was there, so its link was idle for some of that time.
  void on_own_absence(Instant before, Instant now, std::size_t arrivals);
  /// `arrivals` contributions have arrived, each the only one in flight. That counts as a dry link
  /// only if the path holds less than half of one.
  void on_alone(std::size_t arrivals) {
    if (path_ < half_a_path) dry_ += static_cast<std::uint32_t>(arrivals);
  }
  /// `arrivals` contributions were there at once when the node looked. Their senders may have
  /// waited for grants since.
  void on_starved_senders(std::size_t arrivals) {
    starved_ += static_cast<std::uint32_t>(arrivals);
  }
  /// From `now` on the node may not grant anything, since it waits for the inputs `behind`.
  void on_held_up(Instant now, std::span<const std::uint32_t> behind);
  /// From `now` on the node may grant again.
  void on_free(Instant now);
  /// Begins a new period: the stream paused, or its nodes changed, so the present one says nothing.
  void restart(Instant now);
  /// Begins a new view: other nodes may share the path, which is measured anew.
  void begin_view(Instant now);
  /// Contributions have become so much larger that the shortest time of smaller ones tells nothing.
  void forget_least() { least_since_grant_ = Duration::max(); }

 private:
  static constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t rates_kept = 8;
  static constexpr std::uint32_t probe_every = 64;  // periods
  /// A path that holds less is idle most of the time, so nodes are the bottleneck and not links.
  static constexpr double half_a_path = 0.5;

  double best_rate() const;
  double usual_rate() const;
  Duration least_length() const;
  bool nodes_decide() const;
  bool rings_hold_more() const;
  void add_held_up(Instant now);
  void end_period(Instant now);
  void begin_probe_if_due();
  void begin_period(Instant now);
  void set_cover(Duration length);
  bool is_worth_trying_more(double rate);
  void try_more(double rate);
  void set_in_flight();
  void set_ahead(Duration length);
  bool blame(Duration held);
  void acquit(std::size_t input);

  /// The record of an input node that may be slow.
  struct Suspect {
    Duration held{};           // how long it held the node up in this period
    Duration blamed{};         // the same over all periods; earlier ones count half as much
    std::uint32_t streak = 0;  // how often in a row it stood out
    std::uint32_t doubts = 0;  // how often in a row a slow one did not stand out
    bool slow = false;
  };

  PaceOptions options_;
  std::uint32_t period_;  // contributions
  double path_ = 1;       // contributions that the path holds
  std::uint32_t enough_ = 1;
  Wish wish_ = 0;
  std::uint32_t agreed_ = 0;
  std::uint32_t least_ = 0;
  std::uint32_t least_at_rate_ = unknown;  // the contributions of 400 us
  std::uint32_t first_ = 0;
  std::uint32_t most_ = unknown;
  ReluctantNumber ahead_;
  ReluctantNumber cover_;  // places for the node's own absences
  GrantRelief relief_;
  struct {
    std::uint32_t cover = 0;
    std::uint32_t in_flight = 0;
  } before_relief_;
  /// A trial of more places, which stay if they make the node faster.
  struct Trial {
    bool runs = false;
    bool pays = false;           // nodes decide the pace, and less in flight was seen to be slower
    std::uint32_t paid = 0;      // periods since that was seen
    std::uint32_t periods = 0;   // since the trial began
    double rate = 0;             // before the trial
    std::uint32_t cover = 0;     // before the trial
    std::uint32_t pause = 0;     // periods until the next trial may begin
    std::uint32_t patience = 8;  // the pause after the next trial in vain
  } trial_;
  bool running_ = false;
  bool probing_ = false;
  std::uint32_t periods_ = 0;
  std::uint32_t next_probe_ = probe_every;  // the number of the period that may be one
  bool has_probed_ = false;                 // when it was last due
  bool is_hidden_ = false;                  // the last probe drained a queue that hid the path
  std::uint32_t skipped_ = 0;               // probes
  std::array<double, rates_kept> rates_{};  // contributions per second, of the last periods
  std::size_t rates_seen_ = 0;
  Duration shortest_ = Duration::max();  // since the last probe
  Duration shortest_before_ = Duration::max();
  /// Since the view began, without small contributions. If the path has got longer since, this
  /// costs trials in vain.
  Duration least_since_grant_ = Duration::max();
  double places_taken_ = 0;  // by grants to absent senders, smoothed
  double absent_share_ = 0;  // share of the time that the node's absences cost it, smoothed
  double absence_ = 0;       // mean time that one absence cost, in seconds
  // Counts of the present period.
  Instant since_{};
  std::uint32_t arrivals_ = 0;
  std::uint32_t wanted_ = 0;  // arrivals
  Duration taken_{};
  Duration absent_{};
  std::uint32_t absences_ = 0;
  std::uint32_t dry_ = 0;      // arrivals after which nothing was in flight
  std::uint32_t starved_ = 0;  // arrivals whose senders may have waited for grants
  Duration held_{};            // how long the node was held up
  bool judged_ = false;        // `ahead_` has been set in this period already
  // Inputs that hold the node up.
  std::vector<Suspect> suspects_;  // by input
  std::size_t slow_ = 0;           // how many of them are slow
  Duration blamed_{};              // the sum of `held_`; earlier periods count half as much
  bool held_up_ = false;
  Instant held_since_{};
  std::vector<std::uint32_t> behind_;
  bool settling_ = false;       // `ahead_` has just become less
  bool often_held_up_ = false;  // in the last period
};

}  // namespace weft::schedule
