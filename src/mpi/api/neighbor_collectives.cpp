// SPDX-License-Identifier: Apache-2.0
// Collective operations of neighbours in a topology.
#include "mpi/api/topology.hpp"

using namespace weft::mpi;

int MPI_Neighbor_allgather(const void* input, int count, MPI_Datatype type, void* output,
                           int output_count, MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Neighbor_allgather", comm);
  return neighbor_allgather(c, input, count, type, output, output_count, output_type);
}

int MPI_Ineighbor_allgather(const void* input, int count, MPI_Datatype type, void* output,
                            int output_count, MPI_Datatype output_type, MPI_Comm comm,
                            MPI_Request* request) {
  return start_collective("MPI_Ineighbor_allgather", comm, request, [&](Collective& c) {
    return neighbor_allgather(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Neighbor_allgather_init(const void* input, int count, MPI_Datatype type, void* output,
                                int output_count, MPI_Datatype output_type, MPI_Comm comm, MPI_Info,
                                MPI_Request* request) {
  return prepare_collective("MPI_Neighbor_allgather_init", comm, request, [=](Collective& c) {
    return neighbor_allgather(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Neighbor_allgatherv(const void* input, int count, MPI_Datatype type, void* output,
                            const int* counts, const int* displacements, MPI_Datatype output_type,
                            MPI_Comm comm) {
  Collective c("MPI_Neighbor_allgatherv", comm);
  return neighbor_allgatherv(c, input, count, type, output, counts, displacements, output_type);
}

int MPI_Ineighbor_allgatherv(const void* input, int count, MPI_Datatype type, void* output,
                             const int* counts, const int* displacements, MPI_Datatype output_type,
                             MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ineighbor_allgatherv", comm, request, [&](Collective& c) {
    return neighbor_allgatherv(c, input, count, type, output, counts, displacements, output_type);
  });
}

int MPI_Neighbor_allgatherv_init(const void* input, int count, MPI_Datatype type, void* output,
                                 const int* counts, const int* displacements,
                                 MPI_Datatype output_type, MPI_Comm comm, MPI_Info,
                                 MPI_Request* request) {
  return prepare_collective("MPI_Neighbor_allgatherv_init", comm, request, [=](Collective& c) {
    return neighbor_allgatherv(c, input, count, type, output, counts, displacements, output_type);
  });
}

int MPI_Neighbor_alltoall(const void* input, int count, MPI_Datatype type, void* output,
                          int output_count, MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Neighbor_alltoall", comm);
  return neighbor_alltoall(c, input, count, type, output, output_count, output_type);
}

int MPI_Ineighbor_alltoall(const void* input, int count, MPI_Datatype type, void* output,
                           int output_count, MPI_Datatype output_type, MPI_Comm comm,
                           MPI_Request* request) {
  return start_collective("MPI_Ineighbor_alltoall", comm, request, [&](Collective& c) {
    return neighbor_alltoall(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Neighbor_alltoall_init(const void* input, int count, MPI_Datatype type, void* output,
                               int output_count, MPI_Datatype output_type, MPI_Comm comm, MPI_Info,
                               MPI_Request* request) {
  return prepare_collective("MPI_Neighbor_alltoall_init", comm, request, [=](Collective& c) {
    return neighbor_alltoall(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Neighbor_alltoallv(const void* input, const int* counts, const int* displacements,
                           MPI_Datatype type, void* output, const int* output_counts,
                           const int* output_displacements, MPI_Datatype output_type,
                           MPI_Comm comm) {
  Collective c("MPI_Neighbor_alltoallv", comm);
  return neighbor_alltoallv(c, input, counts, displacements, type, output, output_counts,
                            output_displacements, output_type);
}

int MPI_Ineighbor_alltoallv(const void* input, const int* counts, const int* displacements,
                            MPI_Datatype type, void* output, const int* output_counts,
                            const int* output_displacements, MPI_Datatype output_type,
                            MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ineighbor_alltoallv", comm, request, [&](Collective& c) {
    return neighbor_alltoallv(c, input, counts, displacements, type, output, output_counts,
                              output_displacements, output_type);
  });
}

int MPI_Neighbor_alltoallv_init(const void* input, const int* counts, const int* displacements,
                                MPI_Datatype type, void* output, const int* output_counts,
                                const int* output_displacements, MPI_Datatype output_type,
                                MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Neighbor_alltoallv_init", comm, request, [=](Collective& c) {
    return neighbor_alltoallv(c, input, counts, displacements, type, output, output_counts,
                              output_displacements, output_type);
  });
}

int MPI_Neighbor_alltoallw(const void* input, const int* counts, const MPI_Aint* displacements,
                           const MPI_Datatype* types, void* output, const int* output_counts,
                           const MPI_Aint* output_displacements, const MPI_Datatype* output_types,
                           MPI_Comm comm) {
  Collective c("MPI_Neighbor_alltoallw", comm);
  return neighbor_alltoallw(c, input, counts, displacements, types, output, output_counts,
                            output_displacements, output_types);
}

int MPI_Ineighbor_alltoallw(const void* input, const int* counts, const MPI_Aint* displacements,
                            const MPI_Datatype* types, void* output, const int* output_counts,
                            const MPI_Aint* output_displacements, const MPI_Datatype* output_types,
                            MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ineighbor_alltoallw", comm, request, [&](Collective& c) {
    return neighbor_alltoallw(c, input, counts, displacements, types, output, output_counts,
                              output_displacements, output_types);
  });
}

int MPI_Neighbor_alltoallw_init(const void* input, const int* counts, const MPI_Aint* displacements,
                                const MPI_Datatype* types, void* output, const int* output_counts,
                                const MPI_Aint* output_displacements,
                                const MPI_Datatype* output_types, MPI_Comm comm, MPI_Info,
                                MPI_Request* request) {
  return prepare_collective("MPI_Neighbor_alltoallw_init", comm, request, [=](Collective& c) {
    return neighbor_alltoallw(c, input, counts, displacements, types, output, output_counts,
                              output_displacements, output_types);
  });
}

int MPI_Neighbor_allgather_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                             MPI_Count output_count, MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Neighbor_allgather_c", comm);
  return neighbor_allgather(c, input, count, type, output, output_count, output_type);
}

int MPI_Ineighbor_allgather_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                              MPI_Count output_count, MPI_Datatype output_type, MPI_Comm comm,
                              MPI_Request* request) {
  return start_collective("MPI_Ineighbor_allgather_c", comm, request, [&](Collective& c) {
    return neighbor_allgather(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Neighbor_allgather_init_c(const void* input, MPI_Count count, MPI_Datatype type,
                                  void* output, MPI_Count output_count, MPI_Datatype output_type,
                                  MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Neighbor_allgather_init_c", comm, request, [=](Collective& c) {
    return neighbor_allgather(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Neighbor_allgatherv_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                              const MPI_Count* counts, const MPI_Aint* displacements,
                              MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Neighbor_allgatherv_c", comm);
  return neighbor_allgatherv(c, input, count, type, output, counts, displacements, output_type);
}

int MPI_Ineighbor_allgatherv_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                               const MPI_Count* counts, const MPI_Aint* displacements,
                               MPI_Datatype output_type, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ineighbor_allgatherv_c", comm, request, [&](Collective& c) {
    return neighbor_allgatherv(c, input, count, type, output, counts, displacements, output_type);
  });
}

int MPI_Neighbor_allgatherv_init_c(const void* input, MPI_Count count, MPI_Datatype type,
                                   void* output, const MPI_Count* counts,
                                   const MPI_Aint* displacements, MPI_Datatype output_type,
                                   MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Neighbor_allgatherv_init_c", comm, request, [=](Collective& c) {
    return neighbor_allgatherv(c, input, count, type, output, counts, displacements, output_type);
  });
}

int MPI_Neighbor_alltoall_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                            MPI_Count output_count, MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Neighbor_alltoall_c", comm);
  return neighbor_alltoall(c, input, count, type, output, output_count, output_type);
}

int MPI_Ineighbor_alltoall_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                             MPI_Count output_count, MPI_Datatype output_type, MPI_Comm comm,
                             MPI_Request* request) {
  return start_collective("MPI_Ineighbor_alltoall_c", comm, request, [&](Collective& c) {
    return neighbor_alltoall(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Neighbor_alltoall_init_c(const void* input, MPI_Count count, MPI_Datatype type,
                                 void* output, MPI_Count output_count, MPI_Datatype output_type,
                                 MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Neighbor_alltoall_init_c", comm, request, [=](Collective& c) {
    return neighbor_alltoall(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Neighbor_alltoallv_c(const void* input, const MPI_Count* counts,
                             const MPI_Aint* displacements, MPI_Datatype type, void* output,
                             const MPI_Count* output_counts, const MPI_Aint* output_displacements,
                             MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Neighbor_alltoallv_c", comm);
  return neighbor_alltoallv(c, input, counts, displacements, type, output, output_counts,
                            output_displacements, output_type);
}

int MPI_Ineighbor_alltoallv_c(const void* input, const MPI_Count* counts,
                              const MPI_Aint* displacements, MPI_Datatype type, void* output,
                              const MPI_Count* output_counts, const MPI_Aint* output_displacements,
                              MPI_Datatype output_type, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ineighbor_alltoallv_c", comm, request, [&](Collective& c) {
    return neighbor_alltoallv(c, input, counts, displacements, type, output, output_counts,
                              output_displacements, output_type);
  });
}

int MPI_Neighbor_alltoallv_init_c(const void* input, const MPI_Count* counts,
                                  const MPI_Aint* displacements, MPI_Datatype type, void* output,
                                  const MPI_Count* output_counts,
                                  const MPI_Aint* output_displacements, MPI_Datatype output_type,
                                  MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Neighbor_alltoallv_init_c", comm, request, [=](Collective& c) {
    return neighbor_alltoallv(c, input, counts, displacements, type, output, output_counts,
                              output_displacements, output_type);
  });
}

int MPI_Neighbor_alltoallw_c(const void* input, const MPI_Count* counts,
                             const MPI_Aint* displacements, const MPI_Datatype* types, void* output,
                             const MPI_Count* output_counts, const MPI_Aint* output_displacements,
                             const MPI_Datatype* output_types, MPI_Comm comm) {
  Collective c("MPI_Neighbor_alltoallw_c", comm);
  return neighbor_alltoallw(c, input, counts, displacements, types, output, output_counts,
                            output_displacements, output_types);
}

int MPI_Ineighbor_alltoallw_c(const void* input, const MPI_Count* counts,
                              const MPI_Aint* displacements, const MPI_Datatype* types,
                              void* output, const MPI_Count* output_counts,
                              const MPI_Aint* output_displacements,
                              const MPI_Datatype* output_types, MPI_Comm comm,
                              MPI_Request* request) {
  return start_collective("MPI_Ineighbor_alltoallw_c", comm, request, [&](Collective& c) {
    return neighbor_alltoallw(c, input, counts, displacements, types, output, output_counts,
                              output_displacements, output_types);
  });
}

int MPI_Neighbor_alltoallw_init_c(const void* input, const MPI_Count* counts,
                                  const MPI_Aint* displacements, const MPI_Datatype* types,
                                  void* output, const MPI_Count* output_counts,
                                  const MPI_Aint* output_displacements,
                                  const MPI_Datatype* output_types, MPI_Comm comm, MPI_Info,
                                  MPI_Request* request) {
  return prepare_collective("MPI_Neighbor_alltoallw_init_c", comm, request, [=](Collective& c) {
    return neighbor_alltoallw(c, input, counts, displacements, types, output, output_counts,
                              output_displacements, output_types);
  });
}
