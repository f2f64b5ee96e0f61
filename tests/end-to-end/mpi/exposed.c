// SPDX-License-Identifier: Apache-2.0
// Ranks put round numbers into rank 0's window. Rank 0 prints the sum of all that it saw, and its
// first life dies in round 50.
//   exposed DIRECTORY [threads]     empty, or with an entry "killed": then nobody dies; threads: a
//   second thread of each rank has called MPI before
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void* look(void* none) {
  int flag;
  MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  return none;
}

int main(int argc, char** argv) {
  enum { most_ranks = 16, rounds = 60, last = 50 };
  int rank, size, level;
  MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  pthread_t second;
  if (argc > 2) pthread_create(&second, NULL, look, NULL), pthread_join(second, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  char marker[4096];
  snprintf(marker, sizeof marker, "%s/killed", argv[1]);
  long* seen;
  long sum = 0;
  MPI_Win window;
  MPI_Win_allocate(most_ranks * sizeof *seen, sizeof *seen, MPI_INFO_NULL, MPI_COMM_WORLD, &seen,
                   &window);
  memset(seen, 0, most_ranks * sizeof *seen);
  for (long round = 1; round <= rounds; ++round) {
    MPI_Win_fence(0, window);
    if (rank != 0) MPI_Put(&round, 1, MPI_LONG, 0, rank, 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
    if (rank != 0) continue;
    for (int i = 1; i < size; ++i) sum += seen[i];
    if (round == last && open(marker, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) raise(SIGKILL);
  }
  MPI_Win_free(&window);
  if (rank == 0) printf("sum %ld\n", sum);
  MPI_Finalize();
  return 0;
}
