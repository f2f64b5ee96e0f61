// SPDX-License-Identifier: Apache-2.0
#include "sim/faults/random_faults.hpp"

#include <algorithm>

#include "base/rng.hpp"

namespace weft::sim {
namespace {

using Kind = faults::Fault::Kind;

class NodeFaults {
 public:
  NodeFaults(const Scenario& scenario, std::uint32_t node, bool may_crash, Rng rng,
             std::vector<faults::Fault>& faults)
      : rates_(scenario.random_faults),
        usual_(scenario.network.host_link.rate),
        node_(node),
        crashes_(may_crash ? rates_.crashes_per_s : 0),
        rng_(rng),
        faults_(faults) {}

  void draw() {
    const double sum =
        rates_.links_down_per_s + rates_.links_slow_per_s + rates_.pauses_per_s + crashes_;
    if (!(sum > 0)) return;
    for (Duration at = wait(sum); at < rates_.until; at += wait(sum)) {
      if (faults_.size() + 1 >= most_random_faults) return;
      at += one(at, rng_.uniform() * sum);
    }
  }

 private:
  Duration wait(double per_s) {
    const double ns = rng_.exponential(1e9 / per_s);
    return Duration(1 + static_cast<std::int64_t>(std::min(ns, 1e15)));
  }

  /// Draws a fault of the kind that `which` falls into. Yields how long it lasts.
  Duration one(Duration at, double which) {
    const double mean = static_cast<double>(rates_.mean_length.ticks());
    const Duration lasts(1'000 + static_cast<std::int64_t>(rng_.exponential(mean)));
    faults::Fault fault{.at = at, .lasts = lasts, .host = node_};
    if ((which -= rates_.links_down_per_s) < 0) {
      fault.kind = Kind::link_down;
    } else if ((which -= rates_.links_slow_per_s) < 0) {
      fault.kind = Kind::slow;
      const std::uint64_t rate = usual_.bytes_per_second() / (2 + rng_.below(9));
      fault.rate = Bandwidth::bytes_per_second(std::max<std::uint64_t>(rate, 1));
    } else if ((which -= rates_.pauses_per_s) < 0) {
      fault.kind = Kind::stop;
    } else {
      faults_.push_back({.kind = Kind::kill, .at = at, .host = node_});
      fault = {.kind = Kind::restart, .at = at + lasts, .host = node_};
    }
    faults_.push_back(fault);
    return lasts + Duration::microseconds(1);
  }

  const RandomFaults& rates_;
  Bandwidth usual_;
  std::uint32_t node_;
  double crashes_;
  Rng rng_;
  std::vector<faults::Fault>& faults_;
};

}  // namespace

std::vector<faults::Fault> draw_random_faults(const Scenario& scenario, std::uint32_t inputs,
                                              std::uint32_t computes, std::uint32_t job) {
  std::vector<faults::Fault> faults;
  const Rng root = Rng(scenario.seed).split(0xfa17);
  for (std::uint32_t node = 0; node < inputs + computes; ++node) {
    const bool may_crash = node != 0 && node != inputs;
    const std::uint64_t place = std::uint64_t{job} << 32 | node;
    NodeFaults(scenario, node, may_crash, root.split(place), faults).draw();
  }
  std::stable_sort(faults.begin(), faults.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  return faults;
}

}  // namespace weft::sim
