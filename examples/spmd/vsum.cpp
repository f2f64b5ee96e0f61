// SPDX-License-Identifier: Apache-2.0
// vsum ELEMENTS: sums up a vector four times: in blocks, in blocks by weight of elements, in blocks
// without rank 0, and after the last process has left. The four sums go to rank 0 together.
#include "programs.hpp"
#include "vector_sum.hpp"

namespace weft::examples {

int vsum(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "vsum", [&] {
    Arguments arguments(given, "vsum ELEMENTS");
    const std::int64_t size = arguments.number("ELEMENTS", 1);
    arguments.finish();
    process.phase("set up");
    const spmd::Group group(process.world());
    const spmd::Space space(size);
    spmd::Container<double> data = vector_on_master(group, space);
    Sums<4> sums{};
    process.phase("blocks");
    require(data.switch_to(spmd::block(space, group.size())));
    sums[0] = own_sum(process, data);

    process.phase("by elements");
    const auto by_element = [size](std::int64_t i) { return static_cast<double>(size - i); };
    require(data.switch_to(spmd::block(space, group.size(), {.index_weight = by_element})));
    sums[1] = own_sum(process, data);

    process.phase("by ranks");
    const bool alone = group.size() == 1;
    const auto by_rank = [alone](Rank rank) { return rank == Rank(0) && !alone ? 0.0 : 1.0; };
    require(data.switch_to(spmd::block(space, group.size(), {.rank_weight = by_rank})));
    sums[2] = own_sum(process, data);

    process.phase("smaller group");
    const spmd::Group smaller = without_last(group);
    require(data.move_to(smaller, spmd::block(space, smaller.size())));
    sums[3] = own_sum(process, data);
    print_sums(process, group, "vsum", sums);
  });
}

}  // namespace weft::examples
