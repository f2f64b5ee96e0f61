// SPDX-License-Identifier: Apache-2.0
// A program that does not repeat itself: what it sends depends on its process's number. Rank 1
// kills itself once, in the midst.
//   dice DIRECTORY [told]     where it leaves a file when it was killed; told: it prints what it
//   rolled
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { rounds = 20 };

static void die_once(const char* directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/killed", directory);
  if (open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) kill(getpid(), SIGKILL);
}

int main(int argc, char** argv) {
  int rank = 0;
  long sum = 0, least = 0, most = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  srand((unsigned)getpid());
  for (int round = 0; round < rounds; ++round) {
    long own = rand() % 6 + 1, all = 0;
    MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    sum = sum * 7 + all;
    if (rank == 0 && argc > 2) printf("round %d: %ld\n", round, sum), fflush(stdout);
    if (rank == 1 && round == rounds / 2) die_once(argv[1]);
  }
  MPI_Reduce(&sum, &least, 1, MPI_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&sum, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", least == most ? "all agree" : "they differ");
  MPI_Finalize();
  return 0;
}
