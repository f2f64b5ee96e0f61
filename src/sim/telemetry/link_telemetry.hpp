// SPDX-License-Identifier: Apache-2.0
// LinkTelemetry: how busy each link was and how much waited for it, in all and over time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/topology/topology.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// The totals of one direction of a cable.
struct LinkTotals {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  ///< headers included
  PicoDuration busy{};
  std::uint64_t queue_peak = 0;  ///< bytes that waited for it, at most
};

/// Counts exactly, by events rather than by samples. Time is in steps of equal length, at most 200
/// of them: when they are used up, each two become one. Memory is bounded by the number of links:
/// 16 bytes a link and step, for which 32 MiB are set aside, so that networks of more than 10,000
/// links have fewer steps, down to 16.
class LinkTelemetry {
 public:
  static constexpr std::uint32_t most_steps = 200;

  explicit LinkTelemetry(std::uint32_t links,
                         PicoDuration first_step = PicoDuration::nanoseconds(100));

  /// `bytes` more bytes wait for the link. Calls are in the order of `now`.
  void queued(PicoInstant now, LinkId link, std::uint64_t bytes);
  /// A packet of so many bytes, of which `waited` were queued, occupies the link from `start`,
  /// which is now, to `departure`.
  void transmitted(LinkId link, std::uint64_t bytes, std::uint64_t waited, PicoInstant start,
                   PicoInstant departure);
  /// Something else has happened now.
  void delivered(PicoInstant now) { last_ = std::max(last_, now); }
  /// Closes the books at `end`, or when the last thing happened if that is later. Once, last.
  void finish(PicoInstant end);

  // After finish().
  PicoInstant end() const { return end_; }
  PicoDuration step() const { return step_; }
  /// The last one ends at `end`, and may be shorter.
  std::uint32_t steps() const { return used_; }
  const LinkTotals& totals(LinkId link) const { return links_[link.value()].totals; }
  /// Share of all the time in which the link was busy, 0 … 1, and bytes that waited on average.
  double utilisation(LinkId link) const;
  double queue(LinkId link) const;
  /// The same within one step.
  double utilisation(LinkId link, std::uint32_t step) const;
  double queue(LinkId link, std::uint32_t step) const;
  /// The links that the series are worth telling of, at most so many, in their order: those that
  /// were busy for longest and, in turns with these, those that most waited for in switches and
  /// those that most waited for at hosts.
  std::vector<LinkId> most_loaded(const Topology& topology, std::size_t most) const;

 private:
  struct Cell {
    std::int64_t busy_ps = 0;
    double queue_byte_ps = 0;
  };
  struct Link {
    LinkTotals totals;
    double queue_byte_ps = 0;
    std::uint64_t queue = 0;    // bytes that wait now
    PicoInstant queue_since{};  // the integral is up to date until then
    PicoInstant busy_until{};
  };

  Cell* cells(std::size_t link) { return cells_.data() + link * capacity_; }
  const Cell& cell(LinkId link, std::uint32_t step) const {
    return cells_[std::size_t{link.value()} * capacity_ + step];
  }
  PicoDuration length(std::uint32_t step) const;
  void cover(PicoInstant until);
  void halve();
  void integrate(std::size_t link, PicoInstant now);
  void add_busy(std::size_t link, PicoInstant from, PicoInstant until, std::int64_t sign);

  std::uint32_t capacity_;  // steps
  PicoDuration step_;
  PicoInstant covered_;  // end of the last step that there is room for
  PicoInstant last_{};   // when the latest thing happened
  PicoInstant end_{};
  std::uint32_t used_ = 0;
  std::vector<Link> links_;
  std::vector<Cell> cells_;  // by link, then step
};

}  // namespace weft::sim
