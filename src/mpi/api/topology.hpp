// SPDX-License-Identifier: Apache-2.0
// Topologies: which processes of a communicator are neighbours.
#pragma once

#include <vector>

#include "mpi/api/collective_call.hpp"

namespace weft::mpi {

/// Immutable.
struct Topology {
  int kind = MPI_CART;
  // A Cartesian grid, whose last dimension varies fastest.
  std::vector<int> sizes;
  std::vector<int> periods;
  // A graph that all processes know: the neighbours of rank i end at ends[i].
  std::vector<int> ends;
  std::vector<int> edges;
  // A distributed graph, of which each process knows its own part.
  std::vector<int> sources, source_weights;
  std::vector<int> destinations, destination_weights;
  bool is_weighted = false;

  std::vector<int> coordinates_of(int rank) const;
  /// MPI_PROC_NULL: outside of the grid.
  int rank_at(std::vector<int> coordinates) const;
  /// In the order in which neighbourhood collectives have them; some may be MPI_PROC_NULL.
  std::vector<int> receives_from(int rank) const;
  std::vector<int> sends_to(int rank) const;
};

int neighbor_allgather(Collective& c, const void* input, std::int64_t count, MPI_Datatype type,
                       void* output, std::int64_t output_count, MPI_Datatype output_type);
int neighbor_allgatherv(Collective& c, const void* input, std::int64_t count, MPI_Datatype type,
                        void* output, Integers counts, Integers displacements,
                        MPI_Datatype output_type);
int neighbor_alltoall(Collective& c, const void* input, std::int64_t count, MPI_Datatype type,
                      void* output, std::int64_t output_count, MPI_Datatype output_type);
int neighbor_alltoallv(Collective& c, const void* input, Integers counts, Integers displacements,
                       MPI_Datatype type, void* output, Integers output_counts,
                       Integers output_displacements, MPI_Datatype output_type);
int neighbor_alltoallw(Collective& c, const void* input, Integers counts, Integers displacements,
                       const MPI_Datatype* types, void* output, Integers output_counts,
                       Integers output_displacements, const MPI_Datatype* output_types);

}  // namespace weft::mpi
