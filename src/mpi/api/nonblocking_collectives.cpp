// SPDX-License-Identifier: Apache-2.0
// Collective operations that go on while the program does something else.
#include "mpi/api/collective_call.hpp"

using namespace weft::mpi;

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ibarrier", comm, request, [&](Collective& c) { return barrier(c); });
}

int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  return start_collective("MPI_Ibcast", comm, request,
                          [&](Collective& c) { return bcast(c, buffer, count, type, root); });
}

int MPI_Ireduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ireduce", comm, request, [&](Collective& c) {
    return reduce(c, input, output, count, type, op, root);
  });
}

int MPI_Iallreduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iallreduce", comm, request, [&](Collective& c) {
    return allreduce(c, input, output, count, type, op);
  });
}

int MPI_Igather(const void* input, int count, MPI_Datatype type, void* output, int output_count,
                MPI_Datatype output_type, int root, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Igather", comm, request, [&](Collective& c) {
    return gather(c, input, count, type, output, output_count, output_type, root);
  });
}

int MPI_Igatherv(const void* input, int count, MPI_Datatype type, void* output, const int* counts,
                 const int* displacements, MPI_Datatype output_type, int root, MPI_Comm comm,
                 MPI_Request* request) {
  return start_collective("MPI_Igatherv", comm, request, [&](Collective& c) {
    return gatherv(c, input, count, type, output, counts, displacements, output_type, root);
  });
}

int MPI_Iscatter(const void* input, int input_count, MPI_Datatype input_type, void* output,
                 int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iscatter", comm, request, [&](Collective& c) {
    return scatter(c, input, input_count, input_type, output, count, type, root);
  });
}

int MPI_Iscatterv(const void* input, const int* counts, const int* displacements,
                  MPI_Datatype input_type, void* output, int count, MPI_Datatype type, int root,
                  MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iscatterv", comm, request, [&](Collective& c) {
    return scatterv(c, input, counts, displacements, input_type, output, count, type, root);
  });
}

int MPI_Iallgather(const void* input, int count, MPI_Datatype type, void* output, int output_count,
                   MPI_Datatype output_type, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iallgather", comm, request, [&](Collective& c) {
    return allgather(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Iallgatherv(const void* input, int count, MPI_Datatype type, void* output,
                    const int* counts, const int* displacements, MPI_Datatype output_type,
                    MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iallgatherv", comm, request, [&](Collective& c) {
    return allgatherv(c, input, count, type, output, counts, displacements, output_type);
  });
}

int MPI_Ialltoall(const void* input, int count, MPI_Datatype type, void* output, int output_count,
                  MPI_Datatype output_type, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ialltoall", comm, request, [&](Collective& c) {
    return alltoall(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Ialltoallv(const void* input, const int* counts, const int* displacements,
                   MPI_Datatype type, void* output, const int* output_counts,
                   const int* output_displacements, MPI_Datatype output_type, MPI_Comm comm,
                   MPI_Request* request) {
  return start_collective("MPI_Ialltoallv", comm, request, [&](Collective& c) {
    return alltoallv(c, input, counts, displacements, type, output, output_counts,
                     output_displacements, output_type);
  });
}

int MPI_Ialltoallw(const void* input, const int* counts, const int* displacements,
                   const MPI_Datatype* types, void* output, const int* output_counts,
                   const int* output_displacements, const MPI_Datatype* output_types, MPI_Comm comm,
                   MPI_Request* request) {
  return start_collective("MPI_Ialltoallw", comm, request, [&](Collective& c) {
    return alltoallw(c, input, counts, displacements, types, output, output_counts,
                     output_displacements, output_types);
  });
}

int MPI_Ireduce_scatter(const void* input, void* output, const int* counts, MPI_Datatype type,
                        MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ireduce_scatter", comm, request, [&](Collective& c) {
    return reduce_scatter(c, input, output, counts, type, op);
  });
}

int MPI_Ireduce_scatter_block(const void* input, void* output, int count, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ireduce_scatter_block", comm, request, [&](Collective& c) {
    return reduce_scatter_block(c, input, output, count, type, op);
  });
}

int MPI_Iscan(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iscan", comm, request,
                          [&](Collective& c) { return scan(c, input, output, count, type, op); });
}

int MPI_Iexscan(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iexscan", comm, request,
                          [&](Collective& c) { return exscan(c, input, output, count, type, op); });
}

int MPI_Ibcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
                 MPI_Request* request) {
  return start_collective("MPI_Ibcast_c", comm, request,
                          [&](Collective& c) { return bcast(c, buffer, count, type, root); });
}

int MPI_Ireduce_c(const void* input, void* output, MPI_Count count, MPI_Datatype type, MPI_Op op,
                  int root, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ireduce_c", comm, request, [&](Collective& c) {
    return reduce(c, input, output, count, type, op, root);
  });
}

int MPI_Iallreduce_c(const void* input, void* output, MPI_Count count, MPI_Datatype type, MPI_Op op,
                     MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iallreduce_c", comm, request, [&](Collective& c) {
    return allreduce(c, input, output, count, type, op);
  });
}

int MPI_Igather_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                  MPI_Count output_count, MPI_Datatype output_type, int root, MPI_Comm comm,
                  MPI_Request* request) {
  return start_collective("MPI_Igather_c", comm, request, [&](Collective& c) {
    return gather(c, input, count, type, output, output_count, output_type, root);
  });
}

int MPI_Igatherv_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                   const MPI_Count* counts, const MPI_Aint* displacements, MPI_Datatype output_type,
                   int root, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Igatherv_c", comm, request, [&](Collective& c) {
    return gatherv(c, input, count, type, output, counts, displacements, output_type, root);
  });
}

int MPI_Iscatter_c(const void* input, MPI_Count input_count, MPI_Datatype input_type, void* output,
                   MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
                   MPI_Request* request) {
  return start_collective("MPI_Iscatter_c", comm, request, [&](Collective& c) {
    return scatter(c, input, input_count, input_type, output, count, type, root);
  });
}

int MPI_Iscatterv_c(const void* input, const MPI_Count* counts, const MPI_Aint* displacements,
                    MPI_Datatype input_type, void* output, MPI_Count count, MPI_Datatype type,
                    int root, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iscatterv_c", comm, request, [&](Collective& c) {
    return scatterv(c, input, counts, displacements, input_type, output, count, type, root);
  });
}

int MPI_Iallgather_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                     MPI_Count output_count, MPI_Datatype output_type, MPI_Comm comm,
                     MPI_Request* request) {
  return start_collective("MPI_Iallgather_c", comm, request, [&](Collective& c) {
    return allgather(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Iallgatherv_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                      const MPI_Count* counts, const MPI_Aint* displacements,
                      MPI_Datatype output_type, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iallgatherv_c", comm, request, [&](Collective& c) {
    return allgatherv(c, input, count, type, output, counts, displacements, output_type);
  });
}

int MPI_Ialltoall_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                    MPI_Count output_count, MPI_Datatype output_type, MPI_Comm comm,
                    MPI_Request* request) {
  return start_collective("MPI_Ialltoall_c", comm, request, [&](Collective& c) {
    return alltoall(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Ialltoallv_c(const void* input, const MPI_Count* counts, const MPI_Aint* displacements,
                     MPI_Datatype type, void* output, const MPI_Count* output_counts,
                     const MPI_Aint* output_displacements, MPI_Datatype output_type, MPI_Comm comm,
                     MPI_Request* request) {
  return start_collective("MPI_Ialltoallv_c", comm, request, [&](Collective& c) {
    return alltoallv(c, input, counts, displacements, type, output, output_counts,
                     output_displacements, output_type);
  });
}

int MPI_Ialltoallw_c(const void* input, const MPI_Count* counts, const MPI_Aint* displacements,
                     const MPI_Datatype* types, void* output, const MPI_Count* output_counts,
                     const MPI_Aint* output_displacements, const MPI_Datatype* output_types,
                     MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ialltoallw_c", comm, request, [&](Collective& c) {
    return alltoallw(c, input, counts, displacements, types, output, output_counts,
                     output_displacements, output_types);
  });
}

int MPI_Ireduce_scatter_c(const void* input, void* output, const MPI_Count* counts,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ireduce_scatter_c", comm, request, [&](Collective& c) {
    return reduce_scatter(c, input, output, counts, type, op);
  });
}

int MPI_Ireduce_scatter_block_c(const void* input, void* output, MPI_Count count, MPI_Datatype type,
                                MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ireduce_scatter_block_c", comm, request, [&](Collective& c) {
    return reduce_scatter_block(c, input, output, count, type, op);
  });
}

int MPI_Iscan_c(const void* input, void* output, MPI_Count count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iscan_c", comm, request,
                          [&](Collective& c) { return scan(c, input, output, count, type, op); });
}

int MPI_Iexscan_c(const void* input, void* output, MPI_Count count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Iexscan_c", comm, request,
                          [&](Collective& c) { return exscan(c, input, output, count, type, op); });
}
