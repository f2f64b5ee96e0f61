// SPDX-License-Identifier: Apache-2.0
// Collective operations that are prepared once, and started again and again.
#include "mpi/api/collective_call.hpp"

using namespace weft::mpi;

int MPI_Barrier_init(MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Barrier_init", comm, request,
                            [=](Collective& c) { return barrier(c); });
}

int MPI_Bcast_init(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info,
                   MPI_Request* request) {
  return prepare_collective("MPI_Bcast_init", comm, request,
                            [=](Collective& c) { return bcast(c, buffer, count, type, root); });
}

int MPI_Reduce_init(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                    int root, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Reduce_init", comm, request, [=](Collective& c) {
    return reduce(c, input, output, count, type, op, root);
  });
}

int MPI_Allreduce_init(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Allreduce_init", comm, request, [=](Collective& c) {
    return allreduce(c, input, output, count, type, op);
  });
}

int MPI_Gather_init(const void* input, int count, MPI_Datatype type, void* output, int output_count,
                    MPI_Datatype output_type, int root, MPI_Comm comm, MPI_Info,
                    MPI_Request* request) {
  return prepare_collective("MPI_Gather_init", comm, request, [=](Collective& c) {
    return gather(c, input, count, type, output, output_count, output_type, root);
  });
}

int MPI_Gatherv_init(const void* input, int count, MPI_Datatype type, void* output,
                     const int* counts, const int* displacements, MPI_Datatype output_type,
                     int root, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Gatherv_init", comm, request, [=](Collective& c) {
    return gatherv(c, input, count, type, output, counts, displacements, output_type, root);
  });
}

int MPI_Scatter_init(const void* input, int input_count, MPI_Datatype input_type, void* output,
                     int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info,
                     MPI_Request* request) {
  return prepare_collective("MPI_Scatter_init", comm, request, [=](Collective& c) {
    return scatter(c, input, input_count, input_type, output, count, type, root);
  });
}

int MPI_Scatterv_init(const void* input, const int* counts, const int* displacements,
                      MPI_Datatype input_type, void* output, int count, MPI_Datatype type, int root,
                      MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Scatterv_init", comm, request, [=](Collective& c) {
    return scatterv(c, input, counts, displacements, input_type, output, count, type, root);
  });
}

int MPI_Allgather_init(const void* input, int count, MPI_Datatype type, void* output,
                       int output_count, MPI_Datatype output_type, MPI_Comm comm, MPI_Info,
                       MPI_Request* request) {
  return prepare_collective("MPI_Allgather_init", comm, request, [=](Collective& c) {
    return allgather(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Allgatherv_init(const void* input, int count, MPI_Datatype type, void* output,
                        const int* counts, const int* displacements, MPI_Datatype output_type,
                        MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Allgatherv_init", comm, request, [=](Collective& c) {
    return allgatherv(c, input, count, type, output, counts, displacements, output_type);
  });
}

int MPI_Alltoall_init(const void* input, int count, MPI_Datatype type, void* output,
                      int output_count, MPI_Datatype output_type, MPI_Comm comm, MPI_Info,
                      MPI_Request* request) {
  return prepare_collective("MPI_Alltoall_init", comm, request, [=](Collective& c) {
    return alltoall(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Alltoallv_init(const void* input, const int* counts, const int* displacements,
                       MPI_Datatype type, void* output, const int* output_counts,
                       const int* output_displacements, MPI_Datatype output_type, MPI_Comm comm,
                       MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Alltoallv_init", comm, request, [=](Collective& c) {
    return alltoallv(c, input, counts, displacements, type, output, output_counts,
                     output_displacements, output_type);
  });
}

int MPI_Alltoallw_init(const void* input, const int* counts, const int* displacements,
                       const MPI_Datatype* types, void* output, const int* output_counts,
                       const int* output_displacements, const MPI_Datatype* output_types,
                       MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Alltoallw_init", comm, request, [=](Collective& c) {
    return alltoallw(c, input, counts, displacements, types, output, output_counts,
                     output_displacements, output_types);
  });
}

int MPI_Reduce_scatter_init(const void* input, void* output, const int* counts, MPI_Datatype type,
                            MPI_Op op, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Reduce_scatter_init", comm, request, [=](Collective& c) {
    return reduce_scatter(c, input, output, counts, type, op);
  });
}

int MPI_Reduce_scatter_block_init(const void* input, void* output, int count, MPI_Datatype type,
                                  MPI_Op op, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Reduce_scatter_block_init", comm, request, [=](Collective& c) {
    return reduce_scatter_block(c, input, output, count, type, op);
  });
}

int MPI_Scan_init(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Scan_init", comm, request,
                            [=](Collective& c) { return scan(c, input, output, count, type, op); });
}

int MPI_Exscan_init(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Exscan_init", comm, request, [=](Collective& c) {
    return exscan(c, input, output, count, type, op);
  });
}

int MPI_Bcast_init_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
                     MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Bcast_init_c", comm, request,
                            [=](Collective& c) { return bcast(c, buffer, count, type, root); });
}

int MPI_Reduce_init_c(const void* input, void* output, MPI_Count count, MPI_Datatype type,
                      MPI_Op op, int root, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Reduce_init_c", comm, request, [=](Collective& c) {
    return reduce(c, input, output, count, type, op, root);
  });
}

int MPI_Allreduce_init_c(const void* input, void* output, MPI_Count count, MPI_Datatype type,
                         MPI_Op op, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Allreduce_init_c", comm, request, [=](Collective& c) {
    return allreduce(c, input, output, count, type, op);
  });
}

int MPI_Gather_init_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                      MPI_Count output_count, MPI_Datatype output_type, int root, MPI_Comm comm,
                      MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Gather_init_c", comm, request, [=](Collective& c) {
    return gather(c, input, count, type, output, output_count, output_type, root);
  });
}

int MPI_Gatherv_init_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                       const MPI_Count* counts, const MPI_Aint* displacements,
                       MPI_Datatype output_type, int root, MPI_Comm comm, MPI_Info,
                       MPI_Request* request) {
  return prepare_collective("MPI_Gatherv_init_c", comm, request, [=](Collective& c) {
    return gatherv(c, input, count, type, output, counts, displacements, output_type, root);
  });
}

int MPI_Scatter_init_c(const void* input, MPI_Count input_count, MPI_Datatype input_type,
                       void* output, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm,
                       MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Scatter_init_c", comm, request, [=](Collective& c) {
    return scatter(c, input, input_count, input_type, output, count, type, root);
  });
}

int MPI_Scatterv_init_c(const void* input, const MPI_Count* counts, const MPI_Aint* displacements,
                        MPI_Datatype input_type, void* output, MPI_Count count, MPI_Datatype type,
                        int root, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Scatterv_init_c", comm, request, [=](Collective& c) {
    return scatterv(c, input, counts, displacements, input_type, output, count, type, root);
  });
}

int MPI_Allgather_init_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                         MPI_Count output_count, MPI_Datatype output_type, MPI_Comm comm, MPI_Info,
                         MPI_Request* request) {
  return prepare_collective("MPI_Allgather_init_c", comm, request, [=](Collective& c) {
    return allgather(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Allgatherv_init_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                          const MPI_Count* counts, const MPI_Aint* displacements,
                          MPI_Datatype output_type, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Allgatherv_init_c", comm, request, [=](Collective& c) {
    return allgatherv(c, input, count, type, output, counts, displacements, output_type);
  });
}

int MPI_Alltoall_init_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                        MPI_Count output_count, MPI_Datatype output_type, MPI_Comm comm, MPI_Info,
                        MPI_Request* request) {
  return prepare_collective("MPI_Alltoall_init_c", comm, request, [=](Collective& c) {
    return alltoall(c, input, count, type, output, output_count, output_type);
  });
}

int MPI_Alltoallv_init_c(const void* input, const MPI_Count* counts, const MPI_Aint* displacements,
                         MPI_Datatype type, void* output, const MPI_Count* output_counts,
                         const MPI_Aint* output_displacements, MPI_Datatype output_type,
                         MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Alltoallv_init_c", comm, request, [=](Collective& c) {
    return alltoallv(c, input, counts, displacements, type, output, output_counts,
                     output_displacements, output_type);
  });
}

int MPI_Alltoallw_init_c(const void* input, const MPI_Count* counts, const MPI_Aint* displacements,
                         const MPI_Datatype* types, void* output, const MPI_Count* output_counts,
                         const MPI_Aint* output_displacements, const MPI_Datatype* output_types,
                         MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Alltoallw_init_c", comm, request, [=](Collective& c) {
    return alltoallw(c, input, counts, displacements, types, output, output_counts,
                     output_displacements, output_types);
  });
}

int MPI_Reduce_scatter_init_c(const void* input, void* output, const MPI_Count* counts,
                              MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Info,
                              MPI_Request* request) {
  return prepare_collective("MPI_Reduce_scatter_init_c", comm, request, [=](Collective& c) {
    return reduce_scatter(c, input, output, counts, type, op);
  });
}

int MPI_Reduce_scatter_block_init_c(const void* input, void* output, MPI_Count count,
                                    MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Info,
                                    MPI_Request* request) {
  return prepare_collective("MPI_Reduce_scatter_block_init_c", comm, request, [=](Collective& c) {
    return reduce_scatter_block(c, input, output, count, type, op);
  });
}

int MPI_Scan_init_c(const void* input, void* output, MPI_Count count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Scan_init_c", comm, request,
                            [=](Collective& c) { return scan(c, input, output, count, type, op); });
}

int MPI_Exscan_init_c(const void* input, void* output, MPI_Count count, MPI_Datatype type,
                      MPI_Op op, MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Exscan_init_c", comm, request, [=](Collective& c) {
    return exscan(c, input, output, count, type, op);
  });
}
