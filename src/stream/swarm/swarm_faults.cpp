// SPDX-License-Identifier: Apache-2.0
// Draws the faults of a swarm case. It never draws the permanent loss of every input node or of
// every compute node, because weft promises nothing in these cases.
#include <algorithm>

#include "stream/swarm/swarm_case.hpp"

namespace weft::stream {
namespace {

using Kind = faults::Fault::Kind;

class FaultDraw {
 public:
  FaultDraw(Rng rng, Duration length, SwarmCase& drawn)
      : rng_(rng),
        length_(length),
        case_(drawn),
        inputs_(drawn.options.inputs),
        nodes_(drawn.options.inputs + drawn.options.computes),
        // One of each kind stays, so that there is somebody to come back to.
        kept_input_(static_cast<std::uint32_t>(rng_.below(inputs_))),
        kept_compute_(inputs_ + static_cast<std::uint32_t>(rng_.below(nodes_ - inputs_))),
        free_from_(nodes_) {}

  /// With a split the input nodes lose each other for a while.
  void draw(Rng split) {
    draw_usual();
    if (inputs_ > 1 && split.uniform() < 0.2) draw_split(split);
    if (split.uniform() < 0.15) draw_pause_near_timeout(split);
    std::stable_sort(case_.faults.begin(), case_.faults.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
  }

 private:
  void draw_usual() {
    // A stream that ends by the time agrees on the end by a view, and others' traffic may hold
    // answers up for longer than the peer timeout.
    if (case_.expected.ends_by_time && !case_.scenario.traffic.empty()) leaves();
    if (rng_.uniform() < 0.35) return;
    const std::uint64_t count = 1 + rng_.below(5);
    for (std::uint64_t i = 0; i < count; ++i) draw_one();
    if (case_.expected.ends_by_time && may_seem_silent_) leaves();
    // When a view changes, answers behind much data or after a clock's leap count as silence.
    if (!case_.expected.calm && may_seem_silent_) case_.expected.may_miss_components = true;
  }

  void draw_one() {
    faults::Fault fault;
    fault.at = scaled(length_, rng_.uniform() * 1.2);
    const auto any = static_cast<std::uint32_t>(rng_.below(nodes_));
    switch (rng_.below(8)) {
      case 0:
        return crash(any, fault.at);
      case 1:
        fault.kind = Kind::stop;
        return outage(any, fault);
      case 2:
        fault.kind = Kind::link_down;
        return outage(any, fault);
      case 3:
        return partition(fault);
      case 4:
        fault.kind = Kind::slow;
        fault.host = any;
        fault.rate = Bandwidth::bytes_per_second(
            case_.scenario.network.host_link.rate.bytes_per_second() / (2 + rng_.below(49)));
        fault.lasts = scaled(length_, 0.05 + rng_.uniform());
        case_.faults.push_back(fault);
        may_seem_silent_ = true;
        return;
      case 5:
        fault.kind = Kind::clock;
        fault.host = any;
        fault.jump = Duration(1'000 + static_cast<std::int64_t>(rng_.below(10'000'000)));
        may_seem_silent_ = may_seem_silent_ || fault.jump * 2 > case_.options.peer_timeout;
        if (rng_.uniform() < 0.5) fault.jump = -fault.jump;
        case_.faults.push_back(fault);
        return;
      case 6:
        fault.kind = Kind::loss;
        fault.host = any;
        fault.parts_per_million = 1 + static_cast<std::uint32_t>(rng_.below(100'000));
        fault.lasts = scaled(length_, 0.05 + rng_.uniform());
        case_.faults.push_back(fault);
        return;
      default:
        return crash(kept_compute_ == any ? 0 : any, fault.at);
    }
  }

  static Duration scaled(Duration d, double factor) {
    return Duration(static_cast<std::int64_t>(static_cast<double>(d.ticks()) * factor));
  }
  bool is_input(std::uint32_t node) const { return node < inputs_; }
  void leaves() { case_.expected.calm = false; }

  /// The faults of one process follow one another.
  bool reserve(std::uint32_t node, Duration& at, Duration lasts) {
    if (free_from_[node] == Duration::max()) return false;
    at = std::max(at, free_from_[node]);
    free_from_[node] = lasts == Duration::max() ? lasts : at + lasts + Duration::microseconds(10);
    return true;
  }

  void crash(std::uint32_t node, Duration at) {
    if (node == kept_input_) return;
    const bool comes_back = node == kept_compute_ || rng_.uniform() < 0.7;
    const Duration gone = scaled(case_.options.peer_timeout, 0.01 + 2 * rng_.uniform());
    if (!reserve(node, at, comes_back ? gone : Duration::max())) return;
    case_.faults.push_back({.kind = Kind::kill, .at = at, .host = node});
    if (comes_back) {
      case_.faults.push_back({.kind = Kind::restart, .at = at + gone, .host = node});
    }
    leaves();
    if (is_input(node)) {
      case_.expected.may_miss_components = true;
    } else {
      case_.expected.computes_crash = true;
      // Timeslices that wait for the sink when a view changes are lost with a node: let the sink
      // have all.
      case_.options.sink_depth = 4096;
    }
  }

  Duration outage_length(bool may_be_long) {
    const Duration timeout = case_.options.peer_timeout;
    if (!may_be_long || rng_.uniform() < 0.5) return scaled(timeout, 0.01 + 0.4 * rng_.uniform());
    return scaled(timeout, 1.01 + 2 * rng_.uniform());
  }

  void outage(std::uint32_t node, faults::Fault fault) {
    fault.host = node;
    fault.lasts = outage_length(node != kept_input_);
    if (!reserve(node, fault.at, fault.lasts)) return;
    case_.faults.push_back(fault);
    count_outage(fault.lasts, is_input(node));
    if (fault.kind == Kind::link_down) count_link_down(fault.lasts);
  }

  /// Some compute nodes lose the input nodes, who keep each other.
  void partition(faults::Fault fault) {
    fault.kind = Kind::partition;
    fault.groups.resize(2);
    for (std::uint32_t n = 0; n < nodes_; ++n) {
      fault.groups[is_input(n) || rng_.uniform() < 0.5 ? 0 : 1].push_back(n);
    }
    if (fault.groups[1].empty()) return;
    fault.lasts = outage_length(true);
    // Partitions do not overlap: the end of one ends all.
    fault.at = std::max(fault.at, partitions_free_from_);
    partitions_free_from_ = fault.at + fault.lasts + Duration::microseconds(10);
    case_.faults.push_back(fault);
    count_outage(fault.lasts, false);
  }

  /// Both parts have input nodes, and may have compute nodes: each could go on.
  void draw_split(Rng& rng) {
    faults::Fault fault;
    fault.kind = Kind::partition;
    fault.groups.resize(2);
    const auto first = static_cast<std::uint32_t>(rng.below(inputs_));
    const auto second = (first + 1 + static_cast<std::uint32_t>(rng.below(inputs_ - 1))) % inputs_;
    for (std::uint32_t n = 0; n < nodes_; ++n) {
      const bool goes_second = n != first && (n == second || rng.uniform() < 0.5);
      fault.groups[goes_second ? 1 : 0].push_back(n);
    }
    const double lasts = rng.uniform() < 0.3 ? 0.01 + 0.4 * rng.uniform() : 1 + 4 * rng.uniform();
    fault.lasts = scaled(case_.options.peer_timeout, lasts);
    fault.at = std::max(scaled(length_, rng.uniform()), partitions_free_from_);
    case_.faults.push_back(fault);
    count_outage(fault.lasts, true);
    // Without a majority that comes back a job waits for ever.
    const bool all_return = std::none_of(free_from_.begin(), free_from_.begin() + inputs_,
                                         [](Duration d) { return d == Duration::max(); });
    if (all_return && rng.uniform() < 0.5) case_.options.quorum = Quorum::majority;
  }

  /// Some peers may find the node dead and others not.
  void draw_pause_near_timeout(Rng& rng) {
    const auto node = static_cast<std::uint32_t>(rng.below(nodes_));
    if (node == kept_input_) return;
    faults::Fault fault{
        .kind = Kind::stop, .at = scaled(length_, rng.uniform() * 1.2), .host = node};
    fault.lasts = scaled(case_.options.peer_timeout, 0.8 + 0.4 * rng.uniform());
    if (!reserve(node, fault.at, fault.lasts)) return;
    case_.faults.push_back(fault);
    leaves();
    if (is_input(node)) case_.expected.may_miss_components = true;
  }

  /// Outages may overlap or follow each other closely: together they must be short.
  void count_outage(Duration lasts, bool of_input) {
    out_of_reach_ = out_of_reach_ + lasts;
    if (out_of_reach_ * 5 >= case_.options.peer_timeout * 4) leaves();
    if (of_input && lasts >= case_.options.peer_timeout) case_.expected.may_miss_components = true;
  }

  /// A lossless network keeps the packets for a link that is down, and they block others, even
  /// between nodes that are well: an input node may be left out of a view because of it.
  void count_link_down(Duration lasts) {
    links_down_ = links_down_ + lasts;
    if (links_down_ * 5 >= case_.options.peer_timeout * 4)
      case_.expected.may_miss_components = true;
  }

  Rng rng_;
  Duration length_;
  SwarmCase& case_;
  std::uint32_t inputs_, nodes_, kept_input_, kept_compute_;
  std::vector<Duration> free_from_;  // by node
  Duration partitions_free_from_{};
  bool may_seem_silent_ = false;
  Duration links_down_{};
  Duration out_of_reach_{};  // all outages together
};

}  // namespace

void draw_swarm_faults(Rng rng, Rng split, Duration length, SwarmCase& drawn) {
  FaultDraw(rng, length, drawn).draw(split);
}

}  // namespace weft::stream
