// SPDX-License-Identifier: Apache-2.0
// A program with a tool in itself, which wraps MPI_Init: it defines MPI's function and needs MPI.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int wrapped;

int MPI_Init(int* argc, char*** argv) {
  ++wrapped;
  return PMPI_Init(argc, argv);
}

int main(int argc, char** argv) {
  int rank = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ++rank;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  // Programs that it starts have its environment.
  const int status = system("exit 3");
  if (rank == 1) printf("sum %d, wrapped %d, child %d\n", sum, wrapped, status >> 8);
  MPI_Finalize();
  return 0;
}
