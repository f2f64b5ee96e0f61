// SPDX-License-Identifier: Apache-2.0
// Windows that the program never frees: rank 0 soon is in MPI_Finalize, and the others go on to
// access its parts. The windows of a pair are made in another order than those of all.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, wrong = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int memory[2] = {42, 42}, *allocated;
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, 0, &pair);
  MPI_Win windows[3];
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &windows[0]);
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated,
                   &windows[1]);
  if (pair != MPI_COMM_NULL) {
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, pair, &windows[2]);
  }
  *allocated = 43;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; rank > 0 && i < 2000; ++i) {
    int got[2] = {0, 0};
    for (int k = 0; k < 2; ++k) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, windows[k]);
      MPI_Get(&got[k], 1, MPI_INT, 0, 0, 1, MPI_INT, windows[k]);
      MPI_Win_unlock(0, windows[k]);
    }
    wrong += got[0] != 42 || got[1] != 43;
  }
  printf("rank %d: %d wrong\n", rank, wrong);
  MPI_Finalize();
  return 0;
}
