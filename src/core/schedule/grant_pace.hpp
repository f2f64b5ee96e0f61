// SPDX-License-Identifier: Apache-2.0
// GrantPace: how many grants a compute node of the grant schedule has out, and how far ahead of the
// last input node it lets the others run. Both follow from the node's own observations; nothing is
// configured, and no value is tried out at the expense of others. docs/schedules.md has the
// reasoning and the measurements.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/schedule/grant_agreement.hpp"
#include "weft/time.hpp"

namespace weft::schedule {

struct PaceOptions {
  std::uint32_t min_in_flight = 1;
  std::uint32_t first_in_flight = 4;  ///< before anything is known
  std::uint32_t max_in_flight = 1 << 16;
  std::uint32_t first_ahead = 2;  ///< timeslices, from the oldest incomplete one on
  std::uint32_t max_ahead = 16;
  /// The first periods are short: little is out, and it has to grow to the path's capacity.
  std::uint32_t short_periods = 10;
};

/// A number that grows as soon as it has to and shrinks in times of calm. Growing again after
/// having shrunk means that it was too early: the machine then requires twice the calm.
class ReluctantNumber {
 public:
  ReluctantNumber(std::uint32_t least, std::uint32_t most);
  std::uint32_t value() const { return value_; }
  /// To `to`, within the limits; does nothing when that is not more.
  void grow(std::uint32_t to);
  /// A period has passed in which it could have been less. True when it is less now.
  bool calm();
  /// A period has passed in which it could not.
  void busy() { calm_ = 0; }
  /// Growing to more than `to` was of no use.
  void take_back(std::uint32_t to) { value_ = std::clamp(to, least_, value_); }
  /// The longest calm that the machine ever requires, in periods; 48 if that is more.
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
  std::uint32_t asked_ = least_patience;  // before it began to shrink
  std::uint32_t shrunk_ = 0;              // times since it grew
};

/// In flight: as many as the path holds when nothing queues, that is the best rate of late times
/// the shortest time from a grant to its contribution, and some more, so that every stage of it has
/// one on its way. As long as the path holds more than is out the rate grows with the number, and
/// with it the number, each period. On top, the places that grants to absent input nodes took, and
/// enough to last through the node's own absences when those cost it time, or when it finds again
/// and again that all it asked for is there: wake-ups may decide then, not links. More is tried,
/// and taken back unless it makes the node faster. No trial is needed where most contributions come
/// while the node has no processor and their senders use up what was granted: there the number
/// grows to what the rings hold. That is the node's wish; the number that all of
/// them agree on (GrantAgreement) overrides it. Now and then the number goes below the path's
/// capacity for a moment, to see the shortest time without the node's own queue. Where there is one
/// input node only, what the rings hold is in flight: nobody meets it.
///
/// Ahead: when stragglers left so few grants to give that the node's link ran dry for more than a
/// twentieth of the time, twice in a row, and they were not always the same ones, the others may be
/// further ahead; when it hardly ever did, less far. Input nodes that are always behind are slow:
/// to run ahead of them gains nothing, and fills buffers, so the others keep to their timeslice.
class GrantPace {
 public:
  GrantPace(const PaceOptions& options, std::size_t inputs);

  std::uint32_t in_flight() const;
  /// With fewer out than this the node's link runs dry.
  std::uint32_t enough() const { return enough_; }
  /// Contributions that the path holds when nothing queues; 1 before anything is known.
  double path_holds() const { return path_; }
  std::uint32_t ahead() const { return any_slow() ? 1 : ahead_.value(); }
  /// Returns how many the node would like to have in flight; zero before anything is known.
  Wish wish() const { return wish_; }
  /// With fewer than that a message would be for too few.
  void set_least(std::uint32_t grants) { least_ = grants; }
  /// Before anything is known of the path so many are out, if that is more than the options say.
  void set_first(std::uint32_t grants) { first_ = grants; }
  /// More are never out: the pairs' rings hold no more.
  void set_most(std::uint32_t grants) { most_ = std::max(1u, grants); }
  /// As many are out as the rings hold: credit decides.
  bool fills_rings() const { return in_flight() >= most_; }
  /// The compute nodes have agreed on so many; zero: they have not.
  void agree(std::uint32_t grants) { agreed_ = grants; }
  bool is_slow(std::size_t input) const { return suspects_[input].slow; }
  bool any_slow() const { return slow_ > 0; }
  std::size_t slow_inputs() const { return slow_; }
  /// From a grant to its contribution, at least; the largest duration before anything is known.
  Duration shortest() const { return std::min(shortest_, shortest_before_); }

  /// The input has left or come back: its measured pace was that of another life.
  void forget(std::size_t input);

  /// A contribution has come, so long after its grant; not less than zero.
  void on_arrival(Instant now, Duration since_grant);
  /// It came so late that its sender must have been absent; its grant took a place for `held`.
  void on_absent_sender(Duration held) { taken_ += held; }
  /// Between `before` and `now` the node did not look; when it did, everything it had asked for,
  /// `arrivals` contributions, was there. For some of that time its link had nothing to do.
  void on_own_absence(Instant before, Instant now, std::size_t arrivals);
  /// `arrivals` contributions came, each the only one that was out. Where one fills the path that
  /// is as it should be.
  void on_alone(std::size_t arrivals) {
    if (path_ < half_a_path) dry_ += static_cast<std::uint32_t>(arrivals);
  }
  /// So many contributions were there at once when the node looked, and their senders may have
  /// waited for grants since.
  void on_starved_senders(std::size_t arrivals) {
    starved_ += static_cast<std::uint32_t>(arrivals);
  }
  /// From `now` on the node may not grant anything for the sake of the inputs `behind`, or it may.
  void on_held_up(Instant now, std::span<const std::uint32_t> behind);
  void on_free(Instant now);
  /// The stream paused or changed its shape: measurements so far do not count.
  void restart(Instant now);

 private:
  static constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::size_t rates_kept = 8;
  static constexpr std::uint32_t probe_every = 64;  // periods
  /// A path that holds less is idle most of the time: not links decide, but nodes.
  static constexpr double half_a_path = 0.5;

  double best_rate() const;
  void add_held_up(Instant now);
  void end_period(Instant now);
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
    Duration held{};           // the node, in this period
    Duration blamed{};         // the same, of before and fading
    std::uint32_t streak = 0;  // times in a row that it stood out
    std::uint32_t doubts = 0;  // and that it did not, although it is slow
    bool slow = false;
  };

  PaceOptions options_;
  std::uint32_t period_;  // contributions
  double path_ = 1;       // contributions that it holds
  std::uint32_t enough_ = 1;
  Wish wish_ = 0;
  std::uint32_t agreed_ = 0;
  std::uint32_t least_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t most_ = unknown;
  ReluctantNumber ahead_;
  ReluctantNumber cover_;  // places for the node's own absences
  /// More places on trial: they stay if they make the node faster.
  struct Trial {
    bool runs = false;
    std::uint32_t periods = 0;   // since it began
    double rate = 0;             // before
    std::uint32_t cover = 0;     // before
    std::uint32_t pause = 0;     // periods until the next one
    std::uint32_t patience = 8;  // the next pause
  } trial_;
  bool running_ = false;
  bool probing_ = false;
  std::uint32_t periods_ = 0;
  std::array<double, rates_kept> rates_{};  // contributions per second, of the last periods
  std::size_t rates_seen_ = 0;
  Duration shortest_ = Duration::max();  // since the last probe
  Duration shortest_before_ = Duration::max();
  double places_taken_ = 0;  // by absent senders, smoothed
  double absent_share_ = 0;  // of the node itself, smoothed
  double absence_ = 0;       // the mean length of one, beyond the grants in flight, seconds
  // Counts of the present period.
  Instant since_{};
  std::uint32_t arrivals_ = 0;
  std::uint32_t wanted_ = 0;  // arrivals
  Duration taken_{};
  Duration absent_{};
  std::uint32_t absences_ = 0;
  std::uint32_t dry_ = 0;  // arrivals that were all that had been asked for
  std::uint32_t starved_ = 0;
  bool starves_ = false;  // the last period
  Duration held_{};
  bool judged_ = false;  // `ahead_` has been set already
  // Inputs that hold the node up.
  std::vector<Suspect> suspects_;  // by input
  std::size_t slow_ = 0;           // of them
  Duration blamed_{};              // for as long as that, fading
  bool held_up_ = false;
  Instant held_since_{};
  std::vector<std::uint32_t> behind_;
  bool settling_ = false;       // `ahead_` has become less
  bool often_held_up_ = false;  // when looked at last
};

}  // namespace weft::schedule
