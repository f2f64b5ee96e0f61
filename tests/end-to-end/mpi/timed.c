// SPDX-License-Identifier: Apache-2.0
// Times of messages between ranks 0 and 1, by MPI's clock, and a sum of all ranks.
//   timed [crash|exit|silent]: rank 1 kills itself, exits with code 3, or exits before
//   MPI_Finalize; "stuck" and "apart": rank 0 receives what rank 1 does not send, which has
//   come to the end or waits in a barrier; "alone": nobody calls MPI
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rounds = 20, longest = 1 << 20 };

static void go_and_come(int rank, char* bytes, int size) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (int i = 1; i <= rounds; ++i) {
    if (rank == 0) {
      memset(bytes, i, size);
      MPI_Send(bytes, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      memset(bytes, 0, size);
      MPI_Recv(bytes, size, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (bytes[0] != i || bytes[size - 1] != i) printf("wrong bytes\n");
    } else if (rank == 1) {
      MPI_Recv(bytes, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(bytes, size, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) printf("%d bytes: %.0f ns\n", size, (MPI_Wtime() - begun) / rounds / 2 * 1e9);
}

int main(int argc, char** argv) {
  const char* const end = argc > 1 ? argv[1] : "";
  if (strcmp(end, "alone") == 0) return 0;
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1 && strcmp(end, "crash") == 0) raise(SIGKILL);
  if (rank == 1 && strcmp(end, "exit") == 0) _Exit(3);
  if (rank == 1 && strcmp(end, "silent") == 0) _Exit(0);
  char* const bytes = malloc(longest);
  go_and_come(rank, bytes, 8);
  go_and_come(rank, bytes, longest);
  const double mine = 0.1 * (rank + 1);
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %.17g\n", sum);
  const int is_apart = strcmp(end, "apart") == 0;
  if (rank == 1 && is_apart) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0 && (is_apart || strcmp(end, "stuck") == 0)) {
    MPI_Recv(bytes, 1, MPI_CHAR, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  free(bytes);
  MPI_Finalize();
  return 0;
}
