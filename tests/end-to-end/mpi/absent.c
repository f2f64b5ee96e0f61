// SPDX-License-Identifier: Apache-2.0
// Calls a function that weft's MPI does not have yet.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm merged;
  MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &merged);
  MPI_Finalize();
  return 0;
}
