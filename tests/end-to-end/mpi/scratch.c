// SPDX-License-Identifier: Apache-2.0
// Each rank writes a line to a file, and reads its neighbour's, before the file is deleted. Then
// the first life of rank 1 dies. Rank 0 prints the sum of what all have read.
//   scratch DIRECTORY WHEN     WHEN: "close", "delete", "open": while it is open
//                                    "anew": another file gets its name
//                                    "unread", "written": nobody reads, or could; each sums ranks
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int could_read = strcmp(argv[2], "written") != 0, at_close = strcmp(argv[2], "close") == 0;
  const int is_read = could_read && strcmp(argv[2], "unread") != 0;
  const int while_open = strcmp(argv[2], "open") == 0;
  char path[4096], marker[4096];
  snprintf(path, sizeof path, "%s/scratch", argv[1]);
  snprintf(marker, sizeof marker, "%s/killed", argv[1]);
  const int own = rank + 10;
  int value = own;
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, path,
                MPI_MODE_CREATE | (could_read ? MPI_MODE_RDWR : MPI_MODE_WRONLY) |
                    (at_close ? MPI_MODE_DELETE_ON_CLOSE : 0),
                MPI_INFO_NULL, &file);
  MPI_File_write_ordered(file, &own, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  const MPI_Offset place = (rank + 1) % size * (int)sizeof value;
  if (is_read && !while_open) MPI_File_read_at(file, place, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  if (!while_open) MPI_File_close(&file);
  if (rank == 0 && !at_close) MPI_File_delete(path, MPI_INFO_NULL);
  if (rank == 0 && strcmp(argv[2], "anew") == 0) {
    const int other[8] = {99, 99, 99, 99, 99, 99, 99, 99};
    FILE* anew = fopen(path, "w");
    fwrite(other, sizeof *other, 8, anew);
    fclose(anew);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1 && open(marker, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) raise(SIGKILL);
  if (while_open) MPI_File_write_at(file, own * 4, &own, 1, MPI_INT, MPI_STATUS_IGNORE);
  if (while_open) MPI_File_close(&file);
  MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\n", sum);
  MPI_Finalize();
  return 0;
}
