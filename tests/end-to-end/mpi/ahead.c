// SPDX-License-Identifier: Apache-2.0
// A process that only sends runs ahead of those that receive: its memory has a bound, and they hear
// of its messages although it waits for nothing. Argument: messages of each kind.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "resident.h"

static int rank, failures;

static void send_one(long i) {
  long value = i;
  if (rank == 0) {
    MPI_Send(&value, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&value, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    failures += value != i;
  }
}

static void broadcast(long i) {
  long value = rank == 0 ? i : -1;
  MPI_Bcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  failures += value != i;
}

static void broadcast_at_once(long i) {
  MPI_Request request;
  long value = rank == 0 ? i : -1;
  MPI_Ibcast(&value, 1, MPI_LONG, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  failures += value != i;
}

static void reduce(long i) {
  const long value = i;
  long sum = 0;
  MPI_Reduce(&value, &sum, 1, MPI_LONG, MPI_SUM, 1, MPI_COMM_WORLD);
  failures += rank == 1 && sum != 2 * i;
}

static void scatter(long i) {
  const long values[2] = {i, i + 1};
  long value = -1;
  MPI_Scatter(values, 1, MPI_LONG, &value, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  failures += value != i + rank;
}

static void repeat(const char* name, void (*act)(long), long messages) {
  const long before = resident_kib();
  for (long i = 0; i < messages; ++i) act(i);
  const long more = resident_kib() - before;
  if (more > 64 * 1024) {
    printf("rank %d has %ld KiB more after %s\n", rank, more, name);
    ++failures;
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const long messages = atol(argv[1]);
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  repeat("sends", send_one, messages);
  repeat("broadcasts", broadcast, messages);
  repeat("broadcasts at once", broadcast_at_once, messages);
  repeat("reductions", reduce, messages);
  repeat("scatters", scatter, messages);
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d failures\n", all);
  MPI_Finalize();
  return 0;
}
