// SPDX-License-Identifier: Apache-2.0
// A first program of MPI: the processes add up their ranks, and the first one names the MPI
// library.
//
//   mpicc.mpich examples/hello_mpi.c -o hello_mpi     (mpicc.openmpi is Open MPI's compiler)
//   weft run -n 4 -- ./hello_mpi
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, sum, length;
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_library_version(library, &length);

  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("the ranks of %d processes add up to %d\n", size, sum);
    printf("MPI library: %.60s\n", library);  // MPICH's text is a page long
  }
  MPI_Finalize();
  return 0;
}
