// SPDX-License-Identifier: Apache-2.0
#include "core/collective/collective.hpp"

#include <bit>

#include "base/check.hpp"
#include "core/collective/algorithms.hpp"

namespace weft::collective {
namespace {

/// A message of this size costs about as much for its bytes as for being one.
constexpr std::uint64_t small_bytes = 32 << 10;
/// So few members that every one can talk to every other.
constexpr std::uint32_t few_members = 8;

using Write = void (*)(const Request&, PlanBuilder&);
/// Requirements of an algorithm on a request, besides its operation.
enum class Needs : std::uint8_t { nothing, regrouping, uniform, uniform_power_of_two };

struct Entry {
  Operation operation;
  Algorithm algorithm;
  Needs needs;
  Write write;
};

using enum Operation;
constexpr Entry entries[] = {
    {barrier, Algorithm::dissemination, Needs::nothing, barrier_dissemination},
    {broadcast, Algorithm::linear, Needs::nothing, broadcast_linear},
    {broadcast, Algorithm::binomial, Needs::nothing, broadcast_binomial},
    {broadcast, Algorithm::ring, Needs::nothing, broadcast_ring},
    {reduce, Algorithm::linear, Needs::nothing, reduce_linear},
    {reduce, Algorithm::binomial, Needs::nothing, reduce_binomial},
    {reduce, Algorithm::rabenseifner, Needs::regrouping, reduce_rabenseifner},
    {reduce, Algorithm::ring, Needs::nothing, reduce_ring},
    {allreduce, Algorithm::linear, Needs::nothing, allreduce_linear},
    {allreduce, Algorithm::binomial, Needs::nothing, allreduce_binomial},
    {allreduce, Algorithm::recursive_doubling, Needs::nothing, allreduce_recursive_doubling},
    {allreduce, Algorithm::rabenseifner, Needs::regrouping, allreduce_rabenseifner},
    {allreduce, Algorithm::ring, Needs::nothing, allreduce_ring},
    {gather, Algorithm::linear, Needs::nothing, gather_linear},
    {gather, Algorithm::binomial, Needs::uniform, gather_binomial},
    {scatter, Algorithm::linear, Needs::nothing, scatter_linear},
    {scatter, Algorithm::binomial, Needs::uniform, scatter_binomial},
    {allgather, Algorithm::linear, Needs::nothing, allgather_linear},
    {allgather, Algorithm::ring, Needs::nothing, allgather_ring},
    {allgather, Algorithm::bruck, Needs::uniform, allgather_bruck},
    {allgather, Algorithm::recursive_doubling, Needs::uniform_power_of_two,
     allgather_recursive_doubling},
    {alltoall, Algorithm::linear, Needs::nothing, alltoall_linear},
    {alltoall, Algorithm::pairwise, Needs::nothing, alltoall_pairwise},
    {alltoall, Algorithm::bruck, Needs::uniform, alltoall_bruck},
    {reduce_scatter, Algorithm::pairwise, Needs::nothing, reduce_scatter_pairwise},
    {scan, Algorithm::ring, Needs::nothing, scan_ring},
    {scan, Algorithm::recursive_doubling, Needs::regrouping, scan_recursive_doubling},
    {exclusive_scan, Algorithm::ring, Needs::nothing, scan_ring},
    {exclusive_scan, Algorithm::recursive_doubling, Needs::regrouping, scan_recursive_doubling},
};

bool is_uniform(const Request& r) {
  return r.blocks.is_uniform() && r.input_blocks.is_uniform();
}

bool fits(const Entry& entry, const Request& r) {
  if (entry.operation != r.operation) return false;
  switch (entry.needs) {
    case Needs::nothing:
      return true;
    case Needs::regrouping:
      return r.may_regroup;
    case Needs::uniform:
      return is_uniform(r);
    case Needs::uniform_power_of_two:
      return is_uniform(r) && std::has_single_bit(r.members);
  }
  return false;
}

Algorithm choose_fold(const Request& r) {
  // The largest message, and about the bytes that one member has to hold.
  const std::uint64_t carried = r.may_regroup ? r.bytes : r.bytes * r.members;
  if (r.members == 2) {
    // Halves go both ways at once, so each member folds one.
    const bool is_large = r.may_regroup && r.bytes > 4 * small_bytes;
    return is_large ? Algorithm::rabenseifner : Algorithm::linear;
  }
  if (r.members <= few_members && r.bytes * r.members <= small_bytes) return Algorithm::linear;
  if (r.operation == reduce) return carried > small_bytes ? Algorithm::ring : Algorithm::binomial;
  if (carried <= small_bytes) return Algorithm::recursive_doubling;
  // Round a ring the first byte passes every member; halving takes twice the logarithm, and one
  // more step for all bytes where members are no power of two.
  const bool halves = r.may_regroup && (r.members > few_members || std::has_single_bit(r.members));
  return halves ? Algorithm::rabenseifner : Algorithm::ring;
}

Algorithm choose_allgather(const Request& r) {
  if (!is_uniform(r) || r.bytes * r.members > 2 * small_bytes) return Algorithm::ring;
  if (r.members <= 2) return Algorithm::linear;
  return std::has_single_bit(r.members) ? Algorithm::recursive_doubling : Algorithm::bruck;
}

Algorithm choose_alltoall(const Request& r) {
  constexpr std::uint64_t tiny_bytes = 256;
  if (!is_uniform(r)) return r.members <= 32 ? Algorithm::linear : Algorithm::pairwise;
  if (r.bytes <= tiny_bytes && r.members >= few_members) return Algorithm::bruck;
  return r.bytes <= small_bytes && r.members <= 32 ? Algorithm::linear : Algorithm::pairwise;
}

}  // namespace

std::string_view name_of(Operation operation) {
  constexpr std::string_view names[] = {"barrier",        "broadcast", "reduce",        "allreduce",
                                        "gather",         "scatter",   "allgather",     "alltoall",
                                        "reduce_scatter", "scan",      "exclusive_scan"};
  return names[static_cast<std::size_t>(operation)];
}

std::string_view name_of(Algorithm algorithm) {
  constexpr std::string_view names[] = {"linear",       "binomial",     "recursive_doubling",
                                        "rabenseifner", "ring",         "bruck",
                                        "pairwise",     "dissemination"};
  return names[static_cast<std::size_t>(algorithm)];
}

Blocks Blocks::uniform(std::uint64_t bytes) {
  Blocks blocks;
  blocks.bytes_ = bytes;
  return blocks;
}

Blocks Blocks::listed(std::span<const std::uint64_t> bytes,
                      std::span<const std::uint64_t> offsets) {
  WEFT_CHECK(bytes.size() == offsets.size());
  Blocks blocks;
  blocks.is_uniform_ = false;
  blocks.listed_bytes_ = bytes;
  blocks.listed_offsets_ = offsets;
  return blocks;
}

std::vector<Algorithm> algorithms_of(const Request& request) {
  std::vector<Algorithm> result;
  for (const Entry& entry : entries) {
    if (fits(entry, request)) result.push_back(entry.algorithm);
  }
  return result;
}

Algorithm choose(const Request& r) {
  switch (r.operation) {
    case barrier:
      return Algorithm::dissemination;
    case broadcast:
      if (r.members <= 2) return Algorithm::linear;
      return r.bytes > few_members * small_bytes && r.members >= few_members ? Algorithm::ring
                                                                             : Algorithm::binomial;
    case reduce:
    case allreduce:
      return choose_fold(r);
    case gather:
    case scatter:
      return !is_uniform(r) || r.members <= 4 || r.bytes > small_bytes ? Algorithm::linear
                                                                       : Algorithm::binomial;
    case allgather:
      return choose_allgather(r);
    case alltoall:
      return choose_alltoall(r);
    case reduce_scatter:
      return Algorithm::pairwise;
    case scan:
    case exclusive_scan:
      return r.may_regroup && r.members > 4 ? Algorithm::recursive_doubling : Algorithm::ring;
  }
  return Algorithm::linear;
}

Plan make_plan(const Request& request, Algorithm algorithm) {
  WEFT_CHECK(request.members > 0 && request.rank < request.members &&
             request.root < request.members);
  WEFT_CHECK(request.element_bytes > 0 && request.bytes % request.element_bytes == 0);
  PlanBuilder builder;
  for (const Entry& entry : entries) {
    if (entry.algorithm != algorithm || !fits(entry, request)) continue;
    // A message without bytes says nothing, but in a barrier.
    const bool is_empty = request.operation != barrier && is_uniform(request) &&
                          request.bytes == 0 && request.blocks.bytes(0) == 0;
    if (!is_empty) entry.write(request, builder);
    return builder.take();
  }
  check_failed(__FILE__, __LINE__, "algorithm does the operation", name_of(request.operation));
}

}  // namespace weft::collective
