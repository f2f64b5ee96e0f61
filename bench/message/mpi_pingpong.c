// SPDX-License-Identifier: Apache-2.0
// The competitor's part: two MPI ranks that exchange messages of the sizes given as arguments.
// Rank 0 prints, per size, "BYTES LATENCY_US BANDWIDTH_GBS": medians over batches, as pingpong.cpp
// does. Plain C: built with each MPI's mpicc.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan.h"

enum { kMostWindow = 16 };

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, compare);
  return values[count / 2];
}

static void pass(int sends, char* buffer, int size, int peer) {
  if (sends) {
    MPI_Send(buffer, size, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(buffer, size, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

// Half a round trip, microseconds.
static double latency(int rank, char* buffer, int size) {
  const long rounds = plan_rounds((size_t)size);
  const int batches = plan_batches((size_t)size);
  double times[kPlanBatches];
  for (int batch = -1; batch < batches; ++batch) {
    const double begun = MPI_Wtime();
    for (long i = 0; i < rounds; ++i) {
      pass(rank == 0, buffer, size, 1 - rank);
      pass(rank == 1, buffer, size, 1 - rank);
    }
    if (batch >= 0) times[batch] = (MPI_Wtime() - begun) / 2 / (double)rounds * 1e6;
  }
  return median(times, batches);
}

// A window of messages in one direction, answered by an empty message. All of its messages come
// from and go to the same memory, as in the usual benchmarks.
static void window_of(int rank, char* buffer, int size, int window) {
  const int peer = 1 - rank;
  MPI_Request requests[kMostWindow];
  for (int k = 0; k < window; ++k) {
    if (rank == 0) {
      MPI_Isend(buffer, size, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[k]);
    } else {
      MPI_Irecv(buffer, size, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[k]);
    }
  }
  MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
  if (rank == 1) MPI_Send(buffer, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(buffer, 0, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// GB/s.
static double bandwidth(int rank, char* buffer, int size) {
  const int window = plan_window((size_t)size), batches = plan_batches((size_t)size);
  const long windows = plan_windows((size_t)size);
  double rates[kPlanBatches];
  for (int batch = -1; batch < batches; ++batch) {
    const double begun = MPI_Wtime();
    for (long i = 0; i < windows; ++i) window_of(rank, buffer, size, window);
    const double took = MPI_Wtime() - begun;
    if (batch >= 0) rates[batch] = (double)windows * window * size / took / 1e9;
  }
  return median(rates, batches);
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
    if (rank == 0) {
      printf("%d %.4f %.4f\n", size, microseconds, gigabytes);
      fflush(stdout);
    }
    free(buffer);
  }
  MPI_Finalize();
  return 0;
}
