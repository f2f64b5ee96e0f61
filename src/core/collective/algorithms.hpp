// SPDX-License-Identifier: Apache-2.0
// One function per operation and algorithm: each writes the plan of member `rank`. Private to
// core/collective.
#pragma once

#include "core/collective/collective.hpp"

namespace weft::collective {

inline std::uint32_t add_ring(std::uint32_t member, std::uint32_t distance, std::uint32_t members) {
  return static_cast<std::uint32_t>((std::uint64_t{member} + distance) % members);
}
inline std::uint32_t back_ring(std::uint32_t member, std::uint32_t distance,
                               std::uint32_t members) {
  return add_ring(member, members - distance % members, members);
}
inline Piece whole(Buffer buffer, const Request& r) {
  return {buffer, 0, r.bytes};
}
/// The place of this member's vector.
inline Piece own_input(const Request& r) {
  return whole(r.in_place ? Buffer::output : Buffer::input, r);
}

void barrier_dissemination(const Request& r, PlanBuilder& plan);

void broadcast_linear(const Request& r, PlanBuilder& plan);
void broadcast_binomial(const Request& r, PlanBuilder& plan);
/// Down a binomial tree into parts of equal size, then round the ring: for long vectors.
void broadcast_ring(const Request& r, PlanBuilder& plan);

void reduce_linear(const Request& r, PlanBuilder& plan);
void reduce_binomial(const Request& r, PlanBuilder& plan);
void reduce_rabenseifner(const Request& r, PlanBuilder& plan);
void reduce_ring(const Request& r, PlanBuilder& plan);
void allreduce_linear(const Request& r, PlanBuilder& plan);
void allreduce_binomial(const Request& r, PlanBuilder& plan);
void allreduce_recursive_doubling(const Request& r, PlanBuilder& plan);
void allreduce_rabenseifner(const Request& r, PlanBuilder& plan);
void allreduce_ring(const Request& r, PlanBuilder& plan);
void reduce_scatter_pairwise(const Request& r, PlanBuilder& plan);
void scan_ring(const Request& r, PlanBuilder& plan);
void scan_recursive_doubling(const Request& r, PlanBuilder& plan);

void gather_linear(const Request& r, PlanBuilder& plan);
void gather_binomial(const Request& r, PlanBuilder& plan);
void scatter_linear(const Request& r, PlanBuilder& plan);
void scatter_binomial(const Request& r, PlanBuilder& plan);
void allgather_linear(const Request& r, PlanBuilder& plan);
void allgather_ring(const Request& r, PlanBuilder& plan);
void allgather_bruck(const Request& r, PlanBuilder& plan);
void allgather_recursive_doubling(const Request& r, PlanBuilder& plan);
void alltoall_linear(const Request& r, PlanBuilder& plan);
void alltoall_pairwise(const Request& r, PlanBuilder& plan);
void alltoall_bruck(const Request& r, PlanBuilder& plan);

}  // namespace weft::collective
