// SPDX-License-Identifier: Apache-2.0
// Calls a function that weft's MPI does not have yet.
#include <mpi.h>
#include <stddef.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int value = 0;
  MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, &value);
  MPI_Finalize();
  return 0;
}
