// SPDX-License-Identifier: Apache-2.0
// Calls a function that weft's MPI does not have yet.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Win window;
  int memory = 0;
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Finalize();
  return 0;
}
