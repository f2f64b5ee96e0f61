// SPDX-License-Identifier: Apache-2.0
// Rank 0 sends many short messages, which rank 1 receives from anybody: what rank 0 keeps of them
// has a bound, and a rank that is killed on the way catches up. Arguments: messages, KiB that rank
// 0 may have at the end, a file; rank 1 is killed after half of the messages if the file exists.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "resident.h"

enum { batch = 100000 };

/* Messages from `i` on. */
static void send_batch(long i) {
  for (int k = 0; k < batch; ++k, ++i) {
    const long value = i * 7;
    MPI_Send(&value, 1, MPI_LONG, 1, (int)(i % 5), MPI_COMM_WORLD);
  }
  MPI_Recv(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int receive_batch(long i) {
  int wrong = 0;
  for (int k = 0; k < batch; ++k, ++i) {
    long value;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    wrong += value != i * 7 || status.MPI_TAG != i % 5;
  }
  MPI_Send(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
  return wrong;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const long messages = atol(argv[1]);
  int rank, wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (long i = 0; i < messages; i += batch) {
    if (rank == 0) {
      send_batch(i);
    } else {
      wrong += receive_batch(i);
      if (i >= messages / 2 && unlink(argv[3]) == 0) raise(SIGKILL);
    }
  }
  if (rank == 0) {
    const long kib = resident_kib();
    if (kib > atol(argv[2])) printf("rank 0 has %ld KiB\n", kib);
  } else {
    printf("%ld messages, %d wrong\n", messages, wrong);
  }
  MPI_Finalize();
  return 0;
}
