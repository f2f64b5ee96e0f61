// SPDX-License-Identifier: Apache-2.0
// Calls a function that weft's MPI does not have yet.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm children;
  MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                 MPI_ERRCODES_IGNORE);
  MPI_Finalize();
  return 0;
}
