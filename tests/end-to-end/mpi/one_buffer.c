// SPDX-License-Identifier: Apache-2.0
// Reductions whose input is their output, which Open MPI takes though the standard forbids it:
//   one_buffer ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 40000 };
static double values[kMost];
static int rank, size, failures;

static void fill(int count) {
  for (int i = 0; i < count; ++i) values[i] = rank + 1 + i;
}

// Each element is the sum of the first `ranks` of them.
static void check(const char* what, int count, int ranks) {
  for (int i = 0; i < count; ++i) {
    const double wanted = ranks * (ranks + 1) / 2.0 + (double)ranks * i;
    if (values[i] == wanted) continue;
    if (++failures <= 5) {
      fprintf(stderr, "%s of %d, rank %d: [%d] is %g, not %g\n", what, count, rank, i, values[i],
              wanted);
    }
    return;
  }
}

static void run(int count) {
  fill(count);
  MPI_Allreduce(values, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check("allreduce", count, size);
  fill(count);
  MPI_Request request;
  MPI_Iallreduce(values, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check("iallreduce", count, size);
  fill(count);
  MPI_Scan(values, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check("scan", count, rank + 1);
  fill(count);
  MPI_Reduce(values, values, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) check("reduce", count, size);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  const int counts[] = {1, 100, 1000, 5000, 10000, 16000, kMost};
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < (int)(sizeof counts / sizeof *counts); ++i) run(counts[i]);
  }
  int all = 0;
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  MPI_Finalize();
  return 0;
}
