// SPDX-License-Identifier: Apache-2.0
// The competitor's part: two MPI ranks that exchange messages of the sizes given as arguments.
// Rank 0 prints, per size, "SIZE LATENCY_US BANDWIDTH_GBS". Plain C: built with each MPI's mpicc.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWindow = 16 };

static long clamp(long value, long low, long high) {
  return value < low ? low : value > high ? high : value;
}

// Half a round trip, microseconds.
static double latency(int rank, char* buffer, int size) {
  const int peer = 1 - rank;
  const long count = clamp(400000000L / (size + 20000L), 4, 20000);
  double start = 0;
  for (long i = -count / 10 - 1; i < count; ++i) {
    if (i == 0) start = MPI_Wtime();
    if (rank == 0) MPI_Send(buffer, size, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
    MPI_Recv(buffer, size, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(buffer, size, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - start) / (double)count / 2 * 1e6;
}

// Windows of messages in one direction, each answered by an empty message. GB/s. All messages of a
// window come from and go to the same memory, as in the usual benchmarks.
static double bandwidth(int rank, char* buffer, int size) {
  const int peer = 1 - rank;
  const long windows = clamp(400000000L / ((size + 2000L) * kWindow), 2, 400);
  MPI_Request requests[kWindow];
  double start = 0;
  for (long i = -windows / 10 - 1; i < windows; ++i) {
    if (i == 0) start = MPI_Wtime();
    for (int k = 0; k < kWindow; ++k) {
      if (rank == 0) {
        MPI_Isend(buffer, size, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[k]);
      } else {
        MPI_Irecv(buffer, size, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[k]);
      }
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    if (rank == 1) MPI_Send(buffer, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(buffer, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return (double)windows * kWindow * size / (MPI_Wtime() - start) / 1e9;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    fprintf(stderr, "two ranks are needed, not %d: run it with mpirun -n 2\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 1; i < argc; ++i) {
    const int size = atoi(argv[i]);
    char* buffer = malloc(size > 0 ? (size_t)size : 1);
    if (buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    for (int k = 0; k < size; ++k) buffer[k] = (char)k;
    const double microseconds = latency(rank, buffer, size);
    const double gigabytes = bandwidth(rank, buffer, size);
    if (rank == 0) printf("%d %.4f %.4f\n", size, microseconds, gigabytes);
    free(buffer);
  }
  MPI_Finalize();
  return 0;
}
