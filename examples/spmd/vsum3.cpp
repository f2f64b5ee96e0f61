// SPDX-License-Identifier: Apache-2.0
// vsum3 [ELEMENTS]: sums up a vector, by default of a million elements, in partitionings made by
// hand: equal parts; parts that grow with the rank; those with the last one's reassigned to the
// others, which then go on without the last process.
#include "programs.hpp"
#include "vector_sum.hpp"

namespace weft::examples {
namespace {

/// Rank r gets r + 1 parts of as many as there are.
spmd::Partitioning growing(const spmd::Space& space, std::uint32_t ranks) {
  return spmd::Partitioning(space, ranks, [&](Rank rank) {
    const std::int64_t parts = std::int64_t{ranks} * (ranks + 1) / 2;
    const auto end_of = [&](std::int64_t count) {
      return space.size() * (count * (count + 1) / 2) / parts;
    };
    const spmd::Box box = spmd::Box::line(end_of(rank.value()), end_of(rank.value() + 1));
    return std::vector<spmd::Slice>{{box, 0}};
  });
}

}  // namespace

int vsum3(Process& process, std::span<const std::string> given) {
  return run_reporting(process, "vsum3", [&] {
    Arguments arguments(given, "vsum3 [ELEMENTS]");
    const std::int64_t size = arguments.number("ELEMENTS", 1, 1'000'000);
    arguments.finish();
    process.phase("set up");
    const spmd::Group group(process.world());
    const spmd::Space space(size);
    spmd::Container<double> data = vector_on_master(group, space);
    Sums<4> sums{};
    process.phase("blocks");
    require(data.switch_to(spmd::block(space, group.size())));
    sums[0] = own_sum(process, data);
    process.phase("by hand");
    const spmd::Partitioning by_hand = growing(space, group.size());
    require(data.switch_to(by_hand));
    sums[1] = own_sum(process, data);

    process.phase("reassigned");
    spmd::Partitioning left = by_hand;
    const Rank last(group.size() - 1);
    if (group.size() > 1) left = spmd::reassign(by_hand, std::span(&last, 1));
    require(data.switch_to(left));
    sums[2] = own_sum(process, data);

    process.phase("smaller group");
    const spmd::Group smaller = without_last(group);
    std::vector<Rank> renumbered;
    for (std::uint32_t r = 0; r < group.size(); ++r) {
      renumbered.push_back(r < smaller.size() ? Rank(r) : Rank::max());
    }
    // They hold the same as before: nothing is sent.
    require(data.move_to(smaller, left.renumbered(renumbered, smaller.size())));
    sums[3] = own_sum(process, data);
    print_sums(process, group, "vsum3", sums);
  });
}

}  // namespace weft::examples
