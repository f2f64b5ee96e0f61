// SPDX-License-Identifier: Apache-2.0
// vsum2 [ELEMENTS]: sums up a vector, by default of a million elements, whose parts are dealt in
// two rounds: each process has two slices of it. In blocks, then by weight of elements, then
// without rank 0.
#include "programs.hpp"
#include "vector_sum.hpp"

namespace weft::examples {

int vsum2(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "vsum2", [&] {
    Arguments arguments(given, "vsum2 [ELEMENTS]");
    const std::int64_t size = arguments.number("ELEMENTS", 1, 1'000'000);
    arguments.finish();
    process.phase("set up");
    const spmd::Group group(process.world());
    const spmd::Space space(size);
    spmd::Container<double> data = vector_on_master(group, space);
    Sums<3> sums{};
    process.phase("blocks");
    require(data.switch_to(spmd::block(space, group.size(), {.cycles = 2})));
    sums[0] = own_sum(process, data);

    process.phase("by elements");
    const auto by_element = [size](std::int64_t i) { return static_cast<double>(size - i); };
    require(data.switch_to(
        spmd::block(space, group.size(), {.cycles = 2, .index_weight = by_element})));
    sums[1] = own_sum(process, data);

    process.phase("by ranks");
    const bool alone = group.size() == 1;
    const auto by_rank = [alone](Rank rank) { return rank == Rank(0) && !alone ? 0.0 : 1.0; };
    require(
        data.switch_to(spmd::block(space, group.size(), {.cycles = 2, .rank_weight = by_rank})));
    sums[2] = own_sum(process, data);
    print_sums(process, group, "vsum2", sums);
  });
}

}  // namespace weft::examples
