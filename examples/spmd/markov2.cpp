// SPDX-License-Identifier: Apache-2.0
// markov2 [-f] STATES FAN_OUT [ITERATIONS]: a Markov chain that pushes: each state hands its amount
// to the targets of its outgoing edges, on any rank; a state sums up the amounts from several
// ranks. -f: edges at random. Amounts are whole numbers, and none is lost: their sums do not depend
// on the order, and never change.
#include <algorithm>
#include <cstdio>

#include "common.hpp"
#include "programs.hpp"

namespace weft::examples {
namespace {

using Amount = std::uint64_t;
using spmd::Flow;

constexpr Amount whole = Amount{1} << 40;

class Graph {
 public:
  Graph(std::int64_t states, std::int64_t fan_out, bool at_random)
      : states_(states), fan_out_(fan_out), at_random_(at_random) {
    for (std::int64_t k = 0; k < fan_out; ++k) total_ += weight(k);
  }
  std::int64_t fan_out() const { return fan_out_; }
  std::int64_t target(std::int64_t state, std::int64_t k) const {
    if (!at_random_) return (state + k * (k + 1) / 2) % states_;
    const auto drawn = spmd_hash(state, k) % static_cast<std::uint64_t>(states_);
    return static_cast<std::int64_t>(drawn);
  }
  /// The share of an amount that goes along edge k; the first edge also has the remainder.
  Amount share(Amount amount, std::int64_t k) const { return amount / total_ * weight(k); }
  Amount rest(Amount amount) const { return amount % total_; }

 private:
  static Amount weight(std::int64_t k) { return static_cast<Amount>(k % 7 + 1); }
  static std::uint64_t spmd_hash(std::int64_t state, std::int64_t k) {
    return element_hash(spmd::Index(state, k), std::uint64_t{1});
  }

  std::int64_t states_;
  std::int64_t fan_out_;
  bool at_random_;
  Amount total_ = 0;
};

spmd::Partitioning targets_of(const spmd::Partitioning& blocks, const Graph& graph) {
  return spmd::Partitioning(blocks.space(), blocks.ranks(), [&](Rank rank) {
    std::vector<std::int64_t> written;
    std::vector<bool> seen(static_cast<std::size_t>(blocks.space().size()));
    for (const spmd::Slice& slice : blocks.slices(rank)) {
      for (std::int64_t i = slice.box.from.x(); i < slice.box.to.x(); ++i) {
        for (std::int64_t k = 0; k < graph.fan_out(); ++k) {
          const std::int64_t target = graph.target(i, k);
          if (!seen[static_cast<std::size_t>(target)]) written.push_back(target);
          seen[static_cast<std::size_t>(target)] = true;
        }
      }
    }
    std::vector<spmd::Slice> slices;
    const spmd::IndexSet set = spmd::IndexSet::of(written);
    for (const spmd::Box& box : set.boxes()) slices.push_back({box, 0});
    return slices;
  });
}

void push(const spmd::View<Amount>& from, const spmd::View<Amount>& to, const Graph& graph) {
  from.for_each([&](spmd::Index at, Amount amount) {
    if (amount == 0) return;
    to[graph.target(at.x(), 0)] += graph.rest(amount);
    for (std::int64_t k = 0; k < graph.fan_out(); ++k) {
      to[graph.target(at.x(), k)] += graph.share(amount, k);
    }
  });
}

struct Total {
  Amount amount = 0;
  std::uint64_t checksum = 0;
};

Total total_of(const spmd::Group& group, const spmd::Container<Amount>& data) {
  Total own;
  data.memory().for_each([&](spmd::Index at, Amount amount) {
    own.amount += amount;
    own.checksum += element_hash(at, amount);
  });
  const auto both = [](const Total& a, const Total& b) {
    return Total{a.amount + b.amount, a.checksum + b.checksum};
  };
  return Shared<Total>(group).reduce(
      own, spmd::Reduction<Total>::of(Total(), both, spmd::Grouping::any));
}

}  // namespace

int markov2(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "markov2", [&] {
    Arguments arguments(given, "markov2 [-f] STATES FAN_OUT [ITERATIONS]");
    const bool at_random = arguments.option("-f");
    const std::int64_t states = arguments.number("STATES", 2);
    const std::int64_t fan_out = std::min(arguments.number("FAN_OUT", 1), states / 2);
    const std::int64_t iterations = arguments.number("ITERATIONS", 1, 10);
    arguments.finish();
    process.phase("set up");
    const spmd::Group group(process.world());
    const spmd::Space space(states);
    const Graph graph(states, fan_out, at_random);
    const spmd::Partitioning blocks = spmd::block(space, group.size());
    const spmd::Partitioning writes = targets_of(blocks, graph);
    // Written and read in turn: one container's reduction is the other's start.
    spmd::Container<Amount> from(group, space);
    spmd::Container<Amount> to(group, space);
    from.reserve({blocks, writes});
    to.reserve({blocks, writes});
    Total total;
    for (const std::int64_t start : {std::int64_t{0}, states / 2, states - 1}) {
      process.phase("set up");
      require(from.switch_to(blocks, Flow::none));
      from.memory().for_each(
          [&](spmd::Index at, Amount& amount) { amount = at.x() == start ? whole : 0; });
      process.phase("iterate");
      for (std::int64_t i = 0; i < iterations; ++i) {
        require(to.initialise(writes, 0));
        push(from.memory(), to.memory(), graph);
        process.compute(Duration::nanoseconds(states * fan_out / group.size()));
        require(to.reduce(blocks, spmd::Reduction<Amount>::sum()));
        std::swap(from, to);
      }
      process.phase("sum up");
      const Total of_start = total_of(group, from);
      total.amount += of_start.amount;
      total.checksum = 31 * total.checksum + of_start.checksum;
    }
    char text[100];
    std::snprintf(text, sizeof(text), "markov2: sum %.9g, checksum ",
                  static_cast<double>(total.amount) / static_cast<double>(whole));
    print(process, text + to_hex(total.checksum));
  });
}

}  // namespace weft::examples
