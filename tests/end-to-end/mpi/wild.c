// SPDX-License-Identifier: Apache-2.0
// Long messages from, or with "receives" to, an address at which there is no memory: whoever has
// the wild pointer ends, and the job with it.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { kCount = 100000 };

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* const memory = malloc(kCount * sizeof *memory);
  int* const wild = (int*)0x1000;
  const int receives = argc > 1 && strcmp(argv[1], "receives") == 0;
  MPI_Request request;
  MPI_Isend(receives ? memory : wild, kCount, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD,
            &request);
  MPI_Recv(receives ? wild : memory, kCount, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
