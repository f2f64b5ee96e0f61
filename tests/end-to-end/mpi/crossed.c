// SPDX-License-Identifier: Apache-2.0
// Messages to a process that is outside of MPI, more than fit on their way, do not hold up those to
// others, for one of which it waits. Arguments: messages, a file that does not exist yet.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { first = 1, many = 1000 };  // tags

static int failures;

static void send_all(long messages) {
  MPI_Request* requests = malloc(messages * sizeof *requests);
  for (long i = 0; i < messages; ++i) {
    MPI_Isend(&i, 1, MPI_LONG, 1, many, MPI_COMM_WORLD, &requests[i]);
  }
  for (int i = 0; i < 100; ++i) MPI_Send(&i, 1, MPI_INT, 2, first, MPI_COMM_WORLD);
  MPI_Waitall((int)messages, requests, MPI_STATUSES_IGNORE);
  free(requests);
}

static void receive_all(long messages, const char* file) {
  while (access(file, F_OK) != 0) usleep(1000);
  for (long i = 0; i < messages; ++i) {
    long value;
    MPI_Recv(&value, 1, MPI_LONG, 0, many, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    failures += value != i;
  }
}

// Processes know each other from here on.
static void meet(int rank) {
  for (int other = 0; other < 3; ++other) {
    int own = rank, theirs = -1;
    if (other == rank) continue;
    MPI_Sendrecv(&own, 1, MPI_INT, other, first, &theirs, 1, MPI_INT, other, first, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    failures += theirs != other;
  }
}

static void let_go(const char* file) {
  for (int i = 0; i < 100; ++i) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, 0, first, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    failures += value != i;
  }
  FILE* const gate = fopen(file, "w");
  if (gate == NULL || fclose(gate) != 0) ++failures;
}

int main(int argc, char** argv) {
  int rank, all = 0;
  MPI_Init(&argc, &argv);
  if (argc < 3) return 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  meet(rank);
  if (rank == 0) send_all(atol(argv[1]));
  if (rank == 1) receive_all(atol(argv[1]), argv[2]);
  if (rank == 2) let_go(argv[2]);
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d failures\n", all);
  MPI_Finalize();
  return 0;
}
