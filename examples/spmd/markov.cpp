// SPDX-License-Identifier: Apache-2.0
// markov STATES FAN_IN [ITERATIONS]: a Markov chain that pulls: each state sums up the values of
// its sources, over its incoming edges. Three starts; after each the result goes to rank 0. States
// in blocks; a block reads the sources of its edges, on any rank.
#include <algorithm>
#include <array>
#include <cstdio>

#include "common.hpp"
#include "programs.hpp"

namespace weft::examples {
namespace {

using spmd::Flow;

/// State i is reached from i + offset[k], modulo the states, with weight[k]: a ring with steps that
/// double.
struct Edges {
  Edges(std::int64_t states, std::int64_t fan_in) {
    double total = 0;
    std::int64_t at = 0;
    std::int64_t step = 1;
    for (std::int64_t k = 0; k < fan_in; ++k) {
      offset.push_back(at);
      weight.push_back(static_cast<double>(k % 7 + 1));
      total += weight.back();
      const std::int64_t left = std::max<std::int64_t>(1, fan_in - k - 1);
      at += std::max<std::int64_t>(1, std::min(step, (states - 1 - at) / left));
      step = step > states / 2 ? 1 : 2 * step;
    }
    for (double& each : weight) each /= total;
  }
  std::vector<std::int64_t> offset;
  std::vector<double> weight;
};

spmd::Partitioning sources_of(const spmd::Partitioning& blocks, const Edges& edges) {
  const std::int64_t states = blocks.space().size();
  return spmd::Partitioning(blocks.space(), blocks.ranks(), [&](Rank rank) {
    std::vector<std::int64_t> read;
    std::vector<bool> seen(static_cast<std::size_t>(states));
    for (const spmd::Slice& slice : blocks.slices(rank)) {
      for (std::int64_t i = slice.box.from.x(); i < slice.box.to.x(); ++i) {
        for (const std::int64_t offset : edges.offset) {
          const std::int64_t source = (i + offset) % states;
          if (!seen[static_cast<std::size_t>(source)]) read.push_back(source);
          seen[static_cast<std::size_t>(source)] = true;
        }
      }
    }
    std::vector<spmd::Slice> slices;
    const spmd::IndexSet set = spmd::IndexSet::of(read);
    for (const spmd::Box& box : set.boxes()) slices.push_back({box, 0});
    return slices;
  });
}

struct Chain {
  Chain(const spmd::Group& group, const spmd::Partitioning& blocks, const spmd::Partitioning& reads)
      : data(group, blocks.space()),
        to_reads((data.reserve({blocks, reads}),
                  data.prepare(group.transition(blocks, reads, Flow::preserve)))),
        to_blocks(data.prepare(group.transition(reads, blocks, Flow::none))) {
    require(data.switch_to(blocks, Flow::none));
  }
  spmd::Container<double> data;
  spmd::ActionSequence to_reads;
  spmd::ActionSequence to_blocks;
};

void step(Chain& from, Chain& to, const Edges& edges) {
  require(from.to_reads.run());
  const spmd::View<double> read = from.data.memory();
  const spmd::View<double> write = to.data.memory();
  const std::int64_t states = to.data.space().size();
  for (std::int64_t i = write.box().from.x(); i < write.box().to.x(); ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < edges.offset.size(); ++k) {
      std::int64_t source = i + edges.offset[k];
      if (source >= states) source -= states;
      sum += edges.weight[k] * read[source];
    }
    write[i] = sum;
  }
  require(from.to_blocks.run());
}

}  // namespace

int markov(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "markov", [&] {
    Arguments arguments(given, "markov STATES FAN_IN [ITERATIONS]");
    const std::int64_t states = arguments.number("STATES", 2);
    const std::int64_t fan_in = std::min(arguments.number("FAN_IN", 1), states);
    const std::int64_t iterations = arguments.number("ITERATIONS", 1, 10);
    arguments.finish();
    process.phase("set up");
    const spmd::Group group(process.world());
    const spmd::Space space(states);
    const Edges edges(states, fan_in);
    const spmd::Partitioning blocks = spmd::block(space, group.size());
    const spmd::Partitioning reads = sources_of(blocks, edges);
    const spmd::Partitioning gathered = spmd::master(space, group.size());
    std::string text = "markov: sums";
    std::uint64_t checksum = 0;
    for (const std::int64_t start : {std::int64_t{0}, states / 2, states - 1}) {
      process.phase("set up");
      std::array<Chain, 2> chains{Chain(group, blocks, reads), Chain(group, blocks, reads)};
      chains[0].data.view().for_each(
          [&](spmd::Index at, double& value) { value = at.x() == start ? 1 : 0; });
      process.phase("iterate");
      for (std::int64_t i = 0; i < iterations; ++i) {
        step(chains[static_cast<std::size_t>(i % 2)], chains[static_cast<std::size_t>((i + 1) % 2)],
             edges);
        process.compute(Duration::nanoseconds(states * fan_in / group.size()));
      }
      process.phase("sum up");
      auto& result = chains[static_cast<std::size_t>(iterations % 2)].data;
      require(result.switch_to(gathered));
      const Outcome outcome = outcome_of(group, result);
      char sum[40];
      std::snprintf(sum, sizeof(sum), " %.9g", outcome.sum.value());
      text += sum;
      checksum = 31 * checksum + outcome.checksum;
    }
    print(process, text + ", checksum " + to_hex(checksum));
  });
}

}  // namespace weft::examples
