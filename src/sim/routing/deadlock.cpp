// SPDX-License-Identifier: Apache-2.0
#include "sim/routing/deadlock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "base/check.hpp"
#include "base/huge_pages.hpp"
#include "base/make_error.hpp"
#include "sim/routing/arithmetic.hpp"

namespace weft::sim {
namespace {

/// From the channel in the upper half to the one in the lower half.
using Dependency = std::uint64_t;

/// A packet that waits at the far end of a link: all that its router looks at.
struct Waiting {
  LinkId came_over{};
  RouteState state;
};

struct SameWay {
  static Waiting nothing() { return {.came_over = LinkId(~0U), .state = {}}; }
  static bool equal(const Waiting& a, const Waiting& b) {
    return a.came_over == b.came_over && a.state.waypoint == b.state.waypoint &&
           a.state.phase == b.state.phase && a.state.channel == b.state.channel &&
           a.state.spare == b.state.spare;
  }
  static std::uint64_t hash(const Waiting& w) {
    const std::uint64_t place = std::uint64_t{w.came_over.value()} << 32 | w.state.waypoint;
    const std::uint64_t rest =
        std::uint64_t{w.state.phase} << 24 | std::uint64_t{w.state.channel} << 16 | w.state.spare;
    return mix(mix(place) ^ rest);
  }
};

struct SameDependency {
  static Dependency nothing() { return ~std::uint64_t{0}; }
  static bool equal(Dependency a, Dependency b) { return a == b; }
  static std::uint64_t hash(Dependency d) { return mix(d); }
};

/// A set with open addressing, at most half full: a million insertions take some hundredths of a
/// second, which one with a node for each value does not reach.
template <class T, class Same>
class FlatSet {
 public:
  std::size_t size() const { return size_; }
  /// Whether it is new.
  bool insert(const T& value) {
    if (2 * (size_ + 1) > places_.size()) grow();
    T& place = find(value);
    if (Same::equal(place, value)) return false;
    place = value;
    ++size_;
    return true;
  }
  void clear() {
    std::fill(places_.begin(), places_.end(), Same::nothing());
    size_ = 0;
  }
  /// Calls `see(value)` for each, in no order.
  template <class See>
  void look(See see) const {
    for (const T& place : places_) {
      if (!Same::equal(place, Same::nothing())) see(place);
    }
  }

 private:
  static constexpr std::size_t kFewest = 1024;

  /// Where the value is, or would be.
  T& find(const T& value) {
    const std::size_t mask = places_.size() - 1;
    std::size_t i = Same::hash(value) & mask;
    while (!Same::equal(places_[i], value) && !Same::equal(places_[i], Same::nothing())) {
      i = (i + 1) & mask;
    }
    return places_[i];
  }
  void grow() {
    const std::size_t more = std::max(kFewest, 2 * places_.size());
    const auto before = std::exchange(places_, HugeVector<T>(more, Same::nothing()));
    for (const T& place : before) {
      if (!Same::equal(place, Same::nothing())) find(place) = place;
    }
  }

  HugeVector<T> places_;
  std::size_t size_ = 0;
};

/// Sorts by a key below `keys`, stably and in linear time.
template <class Key>
std::vector<Dependency> sorted(const std::vector<Dependency>& from, std::size_t keys, Key key) {
  std::vector<std::uint32_t> first(keys + 1);
  for (const Dependency d : from) ++first[key(d) + 1];
  for (std::size_t k = 0; k < keys; ++k) first[k + 1] += first[k];
  std::vector<Dependency> to(from.size());
  for (const Dependency d : from) to[first[key(d)]++] = d;
  return to;
}

class Explorer {
 public:
  Explorer(const Topology& topology, const Router& router)
      : topology_(topology), router_(router), classes_(router.channels()) {
    std::vector<bool> seen(topology.vertices());
    for (std::uint32_t h = 0; h < topology.hosts(); ++h) {
      const std::uint32_t edge = topology.edge(h).value();
      if (!seen[edge] && !topology.is_host(Vertex(edge))) sources_.push_back(h);
      seen[edge] = true;
    }
  }

  std::size_t sources() const { return sources_.size(); }
  std::uint64_t steps() const { return steps_; }

  void follow_to(std::uint32_t destination) {
    seen_.clear();
    for (const std::uint32_t source : sources_) {
      if (source == destination) continue;
      starts_.clear();
      router_.starts(source, destination, starts_);
      const LinkId first = topology_.link({topology_.host(source), PortNumber(0)});
      for (const RouteState& state : starts_) arrive({first, state});
    }
    while (!open_.empty()) {
      const Waiting waiting = open_.back();
      open_.pop_back();
      expand(waiting);
    }
  }

  /// Ascending, each once.
  std::vector<Dependency> dependencies() const {
    std::vector<Dependency> all;
    all.reserve(dependencies_.size());
    dependencies_.look([&all](Dependency d) { all.push_back(d); });
    const std::size_t channels = std::size_t{topology_.links()} * classes_;
    all = sorted(all, channels, [](Dependency d) { return d & 0xffff'ffff; });
    return sorted(all, channels, [](Dependency d) { return d >> 32; });
  }

 private:
  std::uint64_t number(LinkId link, std::uint8_t channel) const {
    return std::uint64_t{link.value()} * classes_ + channel;
  }

  void arrive(const Waiting& waiting) {
    if (seen_.insert(waiting)) open_.push_back(waiting);
  }

  void expand(const Waiting& waiting) {
    const PortRef here = topology_.peer(waiting.came_over);
    if (topology_.is_host(here.vertex)) {
      WEFT_CHECK(here.vertex.value() == waiting.state.destination, "{} delivers to {}, not host {}",
                 router_.name(), topology_.label(here.vertex), waiting.state.destination);
      return;
    }
    ++steps_;
    choices_.clear();
    router_.choices(here.vertex, here.port, waiting.state, choices_);
    WEFT_CHECK(!choices_.empty(), "{} is at a loss at {}", router_.name(),
               topology_.label(here.vertex));
    for (const Router::Choice& choice : choices_) {
      WEFT_CHECK(choice.hop.port.value() < topology_.ports(here.vertex) &&
                 choice.hop.channel < classes_);
      const LinkId out = topology_.link({here.vertex, choice.hop.port});
      dependencies_.insert(number(waiting.came_over, waiting.state.channel) << 32 |
                           number(out, choice.hop.channel));
      arrive({out, choice.after});
    }
  }

  const Topology& topology_;
  const Router& router_;
  std::uint32_t classes_;
  std::vector<std::uint32_t> sources_;  // one host per edge switch
  FlatSet<Waiting, SameWay> seen_;
  std::vector<Waiting> open_;
  std::vector<RouteState> starts_;
  std::vector<Router::Choice> choices_;
  FlatSet<Dependency, SameDependency> dependencies_;
  std::uint64_t steps_ = 0;
};

/// Depth-first search in the sorted dependencies; the first cycle that it meets, or nothing.
class CycleSearch {
 public:
  CycleSearch(std::span<const Dependency> dependencies, std::size_t channels)
      : dependencies_(dependencies), first_(channels + 1), colour_(channels, Colour::unseen) {
    for (const Dependency d : dependencies) ++first_[(d >> 32) + 1];
    for (std::size_t c = 0; c < channels; ++c) first_[c + 1] += first_[c];
  }

  std::vector<std::uint32_t> find() {
    for (std::uint32_t c = 0; c < colour_.size(); ++c) {
      if (colour_[c] == Colour::unseen && search_from(c)) return cycle_;
    }
    return {};
  }

 private:
  enum class Colour : std::uint8_t { unseen, on_path, done };
  struct Step {
    std::uint32_t channel;
    std::size_t next;
  };

  void enter(std::uint32_t channel) {
    colour_[channel] = Colour::on_path;
    path_.push_back({channel, first_[channel]});
  }

  bool search_from(std::uint32_t root) {
    enter(root);
    while (!path_.empty()) {
      Step& top = path_.back();
      if (top.next == first_[top.channel + 1]) {
        colour_[top.channel] = Colour::done;
        path_.pop_back();
        continue;
      }
      const auto to = static_cast<std::uint32_t>(dependencies_[top.next++]);
      if (colour_[to] == Colour::unseen) {
        enter(to);
      } else if (colour_[to] == Colour::on_path) {
        bool within = false;
        for (const Step& step : path_) {
          within = within || step.channel == to;
          if (within) cycle_.push_back(step.channel);
        }
        return true;
      }
    }
    return false;
  }

  std::span<const Dependency> dependencies_;
  std::vector<std::size_t> first_;
  std::vector<Colour> colour_;
  std::vector<Step> path_;
  std::vector<std::uint32_t> cycle_;
};

/// Steps of this length visit each of `count` places once, and wherever they end they have been
/// all over: it is near the golden section.
std::uint64_t stride_through(std::uint64_t count) {
  auto stride = std::max<std::uint64_t>(1, count * 618 / 1000);
  while (std::gcd(stride, count) != 1) ++stride;
  return stride;
}

}  // namespace

DeadlockCheck check_deadlock(const Topology& topology, const Router& router,
                             const DeadlockOptions& options) {
  const std::uint64_t channels = std::uint64_t{topology.links()} * router.channels();
  WEFT_CHECK(channels < std::numeric_limits<std::uint32_t>::max());
  Explorer explorer(topology, router);
  DeadlockCheck result;
  const std::uint64_t sources = std::max<std::uint64_t>(1, explorer.sources());
  const std::uint64_t wanted =
      std::clamp<std::uint64_t>(options.most_pairs / sources, 1, topology.hosts());
  const std::uint64_t stride = stride_through(wanted);
  for (std::uint64_t i = 0; i < wanted && explorer.steps() < options.most_steps; ++i) {
    const std::uint64_t place = i * stride % wanted;
    explorer.follow_to(static_cast<std::uint32_t>(place * topology.hosts() / wanted));
    ++result.destinations;
  }
  const std::vector<Dependency> dependencies = explorer.dependencies();
  result.dependencies = dependencies.size();
  for (const std::uint32_t c : CycleSearch(dependencies, channels).find()) {
    result.cycle.push_back({.link = LinkId(c / router.channels()),
                            .channel = static_cast<std::uint8_t>(c % router.channels())});
  }
  return result;
}

Result<void> refuse_deadlocks(const Topology& topology, const Router& router) {
  const DeadlockCheck check = check_deadlock(topology, router, {.most_steps = 1u << 20});
  if (check.free()) return {};
  return invalid(
      "router {} lets packets on {} wait for each other in a circle ({}); use router updown",
      router.name(), topology.name(), check.describe(topology));
}

std::string DeadlockCheck::describe(const Topology& topology) const {
  constexpr std::size_t most_named = 32;
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), most_named); ++i) {
    const PortRef from = topology.port(cycle[i].link);
    text += fmt::format("{}{} port {} -> {}, class {}", i == 0 ? "" : "; ",
                        topology.label(from.vertex), from.port.value(),
                        topology.label(topology.peer(cycle[i].link).vertex), cycle[i].channel);
  }
  if (cycle.size() > most_named) text += fmt::format("; and {} more", cycle.size() - most_named);
  return text;
}

}  // namespace weft::sim
