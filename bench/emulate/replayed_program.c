// SPDX-License-Identifier: Apache-2.0
// Two ranks where messages decide: ping-pongs of two sizes, and many small messages in flight. For
// replayed.py, which records it, replays the recording, and runs it on the same link.
#include <mpi.h>
#include <stdio.h>

static char bytes[8192];

static void ping_pong(int rank, int size, int count) {
  for (int i = 0; i < count; ++i) {
    if (rank == 0) {
      MPI_Send(bytes, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(bytes, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(bytes, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(bytes, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
  }
}

static void windows(int rank) {
  enum { in_flight = 32 };
  MPI_Request requests[in_flight];
  for (int i = 0; i < 250; ++i) {
    for (int j = 0; j < in_flight; ++j) {
      if (rank == 0) {
        MPI_Isend(bytes, 64, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[j]);
      } else {
        MPI_Irecv(bytes, 64, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[j]);
      }
    }
    MPI_Waitall(in_flight, requests, MPI_STATUSES_IGNORE);
    ping_pong(rank, 0, 1);
  }
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char what = argc > 1 ? argv[1][0] : 's';
  // Ranks leave MPI_Init some time apart, which a replay does not do.
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (what == 's') ping_pong(rank, 8, 500);
  if (what == 'l') ping_pong(rank, 8192, 500);
  if (what == 'w') windows(rank);
  if (rank == 0) printf("%.6f\n", MPI_Wtime() - start);
  MPI_Finalize();
  return 0;
}
