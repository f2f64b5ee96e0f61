// SPDX-License-Identifier: Apache-2.0
// Two ranks that measure the network between them: an ordinary MPI program, which knows nothing of
// weft. Prints "name value" lines.
//   mpi_probe latency BYTES ITERATIONS           one way, of a ping-pong: least, 25 %, median, ns
//   mpi_probe window BYTES WINDOW ITERATIONS     WINDOW messages, then an answer: bytes/s
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_window = 1024 };

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print(const char* what, double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  printf("%s_min %.6g\n%s_p25 %.6g\n%s_median %.6g\n", what, values[0], what, values[count / 4],
         what, values[count / 2]);
}

static double latency(int rank, char* buffer, int bytes) {
  const double start = MPI_Wtime();
  if (rank == 0) {
    MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - start) / 2 * 1e9;
}

// Seconds of a window.
static double window(int rank, char* buffer, int bytes, int count) {
  MPI_Request requests[most_window];
  char answer = 0;
  const double start = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    char* const part = buffer + (size_t)i * (size_t)bytes;
    if (rank == 0) {
      MPI_Isend(part, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
    } else {
      MPI_Irecv(part, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[i]);
    }
  }
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) {
    MPI_Recv(&answer, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(&answer, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
  }
  return MPI_Wtime() - start;
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int is_window = argc == 5 && strcmp(argv[1], "window") == 0;
  if (ranks != 2 || (!is_window && (argc != 4 || strcmp(argv[1], "latency") != 0))) {
    if (rank == 0) fprintf(stderr, "two ranks: latency BYTES N | window BYTES WINDOW N\n");
    MPI_Finalize();
    return 2;
  }
  const int bytes = atoi(argv[2]);
  const int count = is_window ? atoi(argv[3]) : 1;
  const int iterations = atoi(argv[argc - 1]);
  const int warm_up = iterations / 10 + 2;
  char* const buffer = calloc((size_t)count, (size_t)bytes);
  double* const values = malloc(sizeof(double) * (size_t)iterations);
  if (buffer == NULL || values == NULL || count > most_window) MPI_Abort(MPI_COMM_WORLD, 3);
  memset(buffer, 1, (size_t)count * (size_t)bytes);
  for (int i = -warm_up; i < iterations; ++i) {
    const double value =
        is_window ? window(rank, buffer, bytes, count) : latency(rank, buffer, bytes);
    if (i >= 0) values[i] = is_window ? (double)bytes * count / value : value;
  }
  if (rank == 0) print(is_window ? "bandwidth" : "latency", values, iterations);
  free(values);
  free(buffer);
  MPI_Finalize();
  return 0;
}
