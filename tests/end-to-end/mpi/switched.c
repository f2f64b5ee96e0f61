// SPDX-License-Identifier: Apache-2.0
// Rank 0 is told that a send of a long message is over, which its receiver takes only after another
// message. Then the ranks exchange more than they keep for each other, and rank 1 kills itself
// once.
//   switched DIRECTORY     where it leaves a file when it was killed
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { words = 1 << 15, rounds = 100 };

static long sent[words], got[words];

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, is_over = 0, go = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int other = 1 - rank;
  long sum = 0;
  if (rank == 0) {
    MPI_Request request;
    for (int i = 0; i < words; ++i) sent[i] = i;
    MPI_Isend(sent, words, MPI_LONG, other, 1, MPI_COMM_WORLD, &request);
    MPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
    MPI_Send(&go, 1, MPI_INT, other, 2, MPI_COMM_WORLD);
    if (!is_over) MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&go, 1, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(got, words, MPI_LONG, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < words; ++i) sum += got[i];
  }
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < words; ++i) sent[i] = rank + round;
    MPI_Sendrecv(sent, words, MPI_LONG, other, 3, got, words, MPI_LONG, other, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < words; ++i) sum += got[i];
  }
  if (rank == 1) {
    char path[4096];
    snprintf(path, sizeof path, "%s/killed", argv[1]);
    if (open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) raise(SIGKILL);
  }
  printf("rank %d: %ld%s\n", rank, sum, is_over ? ", sent before it was received" : "");
  MPI_Finalize();
  return 0;
}
