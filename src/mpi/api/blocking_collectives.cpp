// SPDX-License-Identifier: Apache-2.0
// Collective operations that run to their end.
#include "mpi/api/collective_call.hpp"

using namespace weft::mpi;

int MPI_Barrier(MPI_Comm comm) {
  Collective c("MPI_Barrier", comm);
  return barrier(c);
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  Collective c("MPI_Bcast", comm);
  return bcast(c, buffer, count, type, root);
}

int MPI_Reduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  Collective c("MPI_Reduce", comm);
  return reduce(c, input, output, count, type, op, root);
}

int MPI_Allreduce(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  Collective c("MPI_Allreduce", comm);
  return allreduce(c, input, output, count, type, op);
}

int MPI_Gather(const void* input, int count, MPI_Datatype type, void* output, int output_count,
               MPI_Datatype output_type, int root, MPI_Comm comm) {
  Collective c("MPI_Gather", comm);
  return gather(c, input, count, type, output, output_count, output_type, root);
}

int MPI_Gatherv(const void* input, int count, MPI_Datatype type, void* output, const int* counts,
                const int* displacements, MPI_Datatype output_type, int root, MPI_Comm comm) {
  Collective c("MPI_Gatherv", comm);
  return gatherv(c, input, count, type, output, counts, displacements, output_type, root);
}

int MPI_Scatter(const void* input, int input_count, MPI_Datatype input_type, void* output,
                int count, MPI_Datatype type, int root, MPI_Comm comm) {
  Collective c("MPI_Scatter", comm);
  return scatter(c, input, input_count, input_type, output, count, type, root);
}

int MPI_Scatterv(const void* input, const int* counts, const int* displacements,
                 MPI_Datatype input_type, void* output, int count, MPI_Datatype type, int root,
                 MPI_Comm comm) {
  Collective c("MPI_Scatterv", comm);
  return scatterv(c, input, counts, displacements, input_type, output, count, type, root);
}

int MPI_Allgather(const void* input, int count, MPI_Datatype type, void* output, int output_count,
                  MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Allgather", comm);
  return allgather(c, input, count, type, output, output_count, output_type);
}

int MPI_Allgatherv(const void* input, int count, MPI_Datatype type, void* output, const int* counts,
                   const int* displacements, MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Allgatherv", comm);
  return allgatherv(c, input, count, type, output, counts, displacements, output_type);
}

int MPI_Alltoall(const void* input, int count, MPI_Datatype type, void* output, int output_count,
                 MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Alltoall", comm);
  return alltoall(c, input, count, type, output, output_count, output_type);
}

int MPI_Alltoallv(const void* input, const int* counts, const int* displacements, MPI_Datatype type,
                  void* output, const int* output_counts, const int* output_displacements,
                  MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Alltoallv", comm);
  return alltoallv(c, input, counts, displacements, type, output, output_counts,
                   output_displacements, output_type);
}

int MPI_Alltoallw(const void* input, const int* counts, const int* displacements,
                  const MPI_Datatype* types, void* output, const int* output_counts,
                  const int* output_displacements, const MPI_Datatype* output_types,
                  MPI_Comm comm) {
  Collective c("MPI_Alltoallw", comm);
  return alltoallw(c, input, counts, displacements, types, output, output_counts,
                   output_displacements, output_types);
}

int MPI_Reduce_scatter(const void* input, void* output, const int* counts, MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm) {
  Collective c("MPI_Reduce_scatter", comm);
  return reduce_scatter(c, input, output, counts, type, op);
}

int MPI_Reduce_scatter_block(const void* input, void* output, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm) {
  Collective c("MPI_Reduce_scatter_block", comm);
  return reduce_scatter_block(c, input, output, count, type, op);
}

int MPI_Scan(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
             MPI_Comm comm) {
  Collective c("MPI_Scan", comm);
  return scan(c, input, output, count, type, op);
}

int MPI_Exscan(const void* input, void* output, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  Collective c("MPI_Exscan", comm);
  return exscan(c, input, output, count, type, op);
}

int MPI_Bcast_c(void* buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  Collective c("MPI_Bcast_c", comm);
  return bcast(c, buffer, count, type, root);
}

int MPI_Reduce_c(const void* input, void* output, MPI_Count count, MPI_Datatype type, MPI_Op op,
                 int root, MPI_Comm comm) {
  Collective c("MPI_Reduce_c", comm);
  return reduce(c, input, output, count, type, op, root);
}

int MPI_Allreduce_c(const void* input, void* output, MPI_Count count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm) {
  Collective c("MPI_Allreduce_c", comm);
  return allreduce(c, input, output, count, type, op);
}

int MPI_Gather_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                 MPI_Count output_count, MPI_Datatype output_type, int root, MPI_Comm comm) {
  Collective c("MPI_Gather_c", comm);
  return gather(c, input, count, type, output, output_count, output_type, root);
}

int MPI_Gatherv_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                  const MPI_Count* counts, const MPI_Aint* displacements, MPI_Datatype output_type,
                  int root, MPI_Comm comm) {
  Collective c("MPI_Gatherv_c", comm);
  return gatherv(c, input, count, type, output, counts, displacements, output_type, root);
}

int MPI_Scatter_c(const void* input, MPI_Count input_count, MPI_Datatype input_type, void* output,
                  MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm) {
  Collective c("MPI_Scatter_c", comm);
  return scatter(c, input, input_count, input_type, output, count, type, root);
}

int MPI_Scatterv_c(const void* input, const MPI_Count* counts, const MPI_Aint* displacements,
                   MPI_Datatype input_type, void* output, MPI_Count count, MPI_Datatype type,
                   int root, MPI_Comm comm) {
  Collective c("MPI_Scatterv_c", comm);
  return scatterv(c, input, counts, displacements, input_type, output, count, type, root);
}

int MPI_Allgather_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                    MPI_Count output_count, MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Allgather_c", comm);
  return allgather(c, input, count, type, output, output_count, output_type);
}

int MPI_Allgatherv_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                     const MPI_Count* counts, const MPI_Aint* displacements,
                     MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Allgatherv_c", comm);
  return allgatherv(c, input, count, type, output, counts, displacements, output_type);
}

int MPI_Alltoall_c(const void* input, MPI_Count count, MPI_Datatype type, void* output,
                   MPI_Count output_count, MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Alltoall_c", comm);
  return alltoall(c, input, count, type, output, output_count, output_type);
}

int MPI_Alltoallv_c(const void* input, const MPI_Count* counts, const MPI_Aint* displacements,
                    MPI_Datatype type, void* output, const MPI_Count* output_counts,
                    const MPI_Aint* output_displacements, MPI_Datatype output_type, MPI_Comm comm) {
  Collective c("MPI_Alltoallv_c", comm);
  return alltoallv(c, input, counts, displacements, type, output, output_counts,
                   output_displacements, output_type);
}

int MPI_Alltoallw_c(const void* input, const MPI_Count* counts, const MPI_Aint* displacements,
                    const MPI_Datatype* types, void* output, const MPI_Count* output_counts,
                    const MPI_Aint* output_displacements, const MPI_Datatype* output_types,
                    MPI_Comm comm) {
  Collective c("MPI_Alltoallw_c", comm);
  return alltoallw(c, input, counts, displacements, types, output, output_counts,
                   output_displacements, output_types);
}

int MPI_Reduce_scatter_c(const void* input, void* output, const MPI_Count* counts,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  Collective c("MPI_Reduce_scatter_c", comm);
  return reduce_scatter(c, input, output, counts, type, op);
}

int MPI_Reduce_scatter_block_c(const void* input, void* output, MPI_Count count, MPI_Datatype type,
                               MPI_Op op, MPI_Comm comm) {
  Collective c("MPI_Reduce_scatter_block_c", comm);
  return reduce_scatter_block(c, input, output, count, type, op);
}

int MPI_Scan_c(const void* input, void* output, MPI_Count count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  Collective c("MPI_Scan_c", comm);
  return scan(c, input, output, count, type, op);
}

int MPI_Exscan_c(const void* input, void* output, MPI_Count count, MPI_Datatype type, MPI_Op op,
                 MPI_Comm comm) {
  Collective c("MPI_Exscan_c", comm);
  return exscan(c, input, output, count, type, op);
}
