// SPDX-License-Identifier: Apache-2.0
// The common part of the vector sums: the sums of several partitionings, together in one reduction
// to rank 0. Elements are whole numbers: their sums are exact.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "common.hpp"

namespace weft::examples {

template <std::size_t Count>
using Sums = std::array<double, Count>;

/// The sum of this rank's elements.
inline double own_sum(Process& process, const spmd::Container<double>& data) {
  double sum = 0;
  std::int64_t elements = 0;
  for (std::size_t k = 0; k < data.slices().size(); ++k) {
    for (const double value : data.values(k)) sum += value;
    elements += data.slices()[k].box.size();
  }
  process.compute(Duration::nanoseconds(elements));
  return sum;
}

/// A vector of that many elements on rank 0 alone: 0, 1, 2, …
inline spmd::Container<double> vector_on_master(const spmd::Group& group,
                                                const spmd::Space& space) {
  spmd::Container<double> data(group, space);
  require(data.switch_to(spmd::master(space, group.size()), spmd::Flow::none));
  data.memory().for_each(
      [](spmd::Index at, double& value) { value = static_cast<double>(at.x()); });
  return data;
}

/// All sums must be the same; prints them.
template <std::size_t Count>
void print_sums(Process& process, const spmd::Group& group, const char* name,
                const Sums<Count>& own) {
  process.phase("sum up");
  const spmd::Space space(Count);
  spmd::Container<double> sums(group, space);
  require(sums.switch_to(spmd::all(space, group.size()), spmd::Flow::none));
  std::copy(own.begin(), own.end(), sums.values().begin());
  require(sums.reduce(spmd::master(space, group.size()), spmd::Reduction<double>::sum()));
  if (sums.slices().empty()) return;
  std::string text = name;
  text += ": sums";
  std::uint64_t checksum = 0;
  for (const double sum : sums.values()) {
    text += ' ';
    text += std::to_string(static_cast<std::int64_t>(sum));
    checksum += element_hash(spmd::Index(0), sum);
    if (sum != sums.values()[0]) throw Failure("partitionings came out different: " + text);
  }
  print(process, text + ", checksum " + to_hex(checksum));
}

/// The group of all but the last rank, which leaves; a group of one stays as it is.
inline spmd::Group without_last(const spmd::Group& group) {
  if (group.size() == 1) return group;
  const Rank last(group.size() - 1);
  return group.without(std::span(&last, 1));
}

}  // namespace weft::examples
