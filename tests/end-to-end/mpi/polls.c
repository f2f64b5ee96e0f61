// SPDX-License-Identifier: Apache-2.0
/* Two processes that share one core, and ask for each message by MPI_Test or MPI_Iprobe. A process
   that asks in vain has to give way to the one that sends: else it asks tens of thousands of times
   until the kernel takes the core from it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRounds = 200, kMany = 1000 };

static int compare(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

static int asked_by_test(int peer) {
  int value = 0, done = 0, asked = 0;
  MPI_Request request;
  MPI_Irecv(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &request);
  for (; !done; ++asked) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return asked;
}

static int asked_by_probe(int peer) {
  int value = 0, there = 0, asked = 0;
  for (; !there; ++asked) MPI_Iprobe(peer, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  MPI_Recv(&value, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return asked;
}

int main(int argc, char** argv) {
  int rank, asked[kRounds];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int peer = 1 - rank;
  for (int way = 0; way < 2; ++way) {
    for (int i = 0; i < kRounds; ++i) {
      if (rank == 0) MPI_Send(&i, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
      asked[i] = way == 0 ? asked_by_test(peer) : asked_by_probe(peer);
      if (rank == 1) MPI_Send(&i, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
    }
    qsort(asked, kRounds, sizeof *asked, compare);
    const int usual = asked[kRounds / 2];
    if (usual > kMany) printf("rank %d asked %d times for a message\n", rank, usual);
  }
  MPI_Finalize();
  return 0;
}
