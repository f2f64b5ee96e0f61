// SPDX-License-Identifier: Apache-2.0
// Collective operations of neighbours: each sends a block to, and receives one from, each of its
// own.
#include "mpi/api/topology.hpp"

namespace weft::mpi {
namespace {

struct Neighbors {
  std::vector<int> sources, destinations;
  bool is_grid = false;

  /// The destination whose turn to be sent to is the i-th. In a grid a block that is sent upwards
  /// is received from below. Blocks for one process arrive in the order of sending: where it is the
  /// neighbour in both directions, blocks upwards go first, as those from below are received first.
  std::uint32_t sent(std::uint32_t i) const { return is_grid ? i ^ 1 : i; }
};

Neighbors neighbors_of(Collective& c) {
  if (!c.ok()) return {};
  const Topology* const topology = c.communicator->topology.get();
  if (topology == nullptr) {
    c.error = c.call.fail(c.communicator, MPI_ERR_TOPOLOGY, "the communicator has no topology");
    return {};
  }
  const int rank = static_cast<int>(c.group().rank);
  return {topology->receives_from(rank), topology->sends_to(rank), topology->kind == MPI_CART};
}

/// Blocks of one size, `stride` elements apart.
BlockList uniform_blocks(Collective& c, const void* base, std::int64_t count, std::int64_t stride,
                         MPI_Datatype type, std::size_t blocks) {
  if (!c.ok()) return {};
  const Datatype* const datatype = c.call.communicated(type, c.error);
  if (datatype == nullptr || !c.check_count(count)) return {};
  BlockList made{const_cast<void*>(base), {}};
  for (std::size_t i = 0; i < blocks; ++i) {
    made.blocks.push_back({static_cast<std::int64_t>(i) * stride * datatype->extent(),
                           static_cast<std::uint64_t>(count), datatype});
  }
  return made;
}

int exchange(Collective& c, collective::Operation operation, const Neighbors& neighbors,
             BlockList input, BlockList output) {
  if (!c.ok()) return c.error;
  auto job = std::make_unique<CollectiveJob>();
  job->request.operation = operation;
  job->is_among_neighbors = true;
  job->in_blocks = {std::move(input), true};
  job->out_blocks = {std::move(output), true};
  const collective::Blocks in = job->in_blocks.blocks();
  const collective::Blocks out = job->out_blocks.blocks();
  collective::PlanBuilder plan;
  for (std::uint32_t i = 0; i < neighbors.sources.size(); ++i) {
    if (neighbors.sources[i] == MPI_PROC_NULL) continue;
    plan.receive(static_cast<std::uint32_t>(neighbors.sources[i]),
                 out.at(collective::Buffer::output, i));
  }
  for (std::uint32_t turn = 0; turn < neighbors.destinations.size(); ++turn) {
    const std::uint32_t i = neighbors.sent(turn);
    if (neighbors.destinations[i] == MPI_PROC_NULL) continue;
    plan.send(static_cast<std::uint32_t>(neighbors.destinations[i]),
              in.at(collective::Buffer::input, i));
  }
  job->plan = plan.take();
  job->input = job->in_blocks.data();
  job->output = job->out_blocks.data();
  return c.run(std::move(job));
}

}  // namespace

int neighbor_allgather(Collective& c, const void* input, std::int64_t count, MPI_Datatype type,
                       void* output, std::int64_t output_count, MPI_Datatype output_type) {
  const Neighbors all = neighbors_of(c);
  return exchange(
      c, collective::Operation::allgather, all,
      uniform_blocks(c, input, count, 0, type, all.destinations.size()),
      uniform_blocks(c, output, output_count, output_count, output_type, all.sources.size()));
}

int neighbor_allgatherv(Collective& c, const void* input, std::int64_t count, MPI_Datatype type,
                        void* output, Integers counts, Integers displacements,
                        MPI_Datatype output_type) {
  const Neighbors all = neighbors_of(c);
  return exchange(c, collective::Operation::allgather, all,
                  uniform_blocks(c, input, count, 0, type, all.destinations.size()),
                  c.list(output, counts, displacements, output_type, all.sources.size()));
}

int neighbor_alltoall(Collective& c, const void* input, std::int64_t count, MPI_Datatype type,
                      void* output, std::int64_t output_count, MPI_Datatype output_type) {
  const Neighbors all = neighbors_of(c);
  return exchange(
      c, collective::Operation::alltoall, all,
      uniform_blocks(c, input, count, count, type, all.destinations.size()),
      uniform_blocks(c, output, output_count, output_count, output_type, all.sources.size()));
}

int neighbor_alltoallv(Collective& c, const void* input, Integers counts, Integers displacements,
                       MPI_Datatype type, void* output, Integers output_counts,
                       Integers output_displacements, MPI_Datatype output_type) {
  const Neighbors all = neighbors_of(c);
  return exchange(
      c, collective::Operation::alltoall, all,
      c.list(input, counts, displacements, type, all.destinations.size()),
      c.list(output, output_counts, output_displacements, output_type, all.sources.size()));
}

int neighbor_alltoallw(Collective& c, const void* input, Integers counts, Integers displacements,
                       const MPI_Datatype* types, void* output, Integers output_counts,
                       Integers output_displacements, const MPI_Datatype* output_types) {
  const Neighbors all = neighbors_of(c);
  if (!c.ok()) return c.error;
  return exchange(
      c, collective::Operation::alltoall, all,
      c.list(input, counts, displacements, types, all.destinations.size()),
      c.list(output, output_counts, output_displacements, output_types, all.sources.size()));
}

}  // namespace weft::mpi
