// SPDX-License-Identifier: Apache-2.0
// A program with one collective call of its own beside those on a file, which an MPI carries out by
// collectives and communicators that are not the program's.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int failed) {
  if (failed) MPI_Abort(MPI_COMM_WORLD, 1);
}

static void use(MPI_Comm comm, const char* path) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_File file;
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
  check(MPI_File_open(comm, path, mode, MPI_INFO_NULL, &file));
  check(MPI_File_set_view(file, rank * (MPI_Offset)sizeof(int), MPI_INT, MPI_INT, "native",
                          MPI_INFO_NULL));
  check(MPI_File_write_all(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  check(MPI_File_sync(file));
  int read = -1;
  check(MPI_File_read_at_all(file, 0, &read, 1, MPI_INT, MPI_STATUS_IGNORE) || read != rank);
  check(MPI_File_close(&file));
}

int main(int arguments, char** argument) {
  MPI_Init(&arguments, &argument);
  if (arguments != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char own[4096];
  snprintf(own, sizeof own, "%s.%d", argument[1], rank);
  use(MPI_COMM_WORLD, argument[1]);
  use(MPI_COMM_SELF, own);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
