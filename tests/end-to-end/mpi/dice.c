// SPDX-License-Identifier: Apache-2.0
// A program that does not repeat itself: what it sends depends on its process's number. Rank 1
// kills itself once, in the midst.
//   dice DIRECTORY [told|long]     where it leaves a file when it was killed; told: it prints what
//   it rolled; long: rank 1 rolls for all, and sends 64 KiB when all others have asked for it
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { rounds = 20, many = 1 << 13 };

static long own[many], all[many];

static void die_once(const char* directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/killed", directory);
  if (open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) kill(getpid(), SIGKILL);
}

/* Rank 1 sends what it rolled when both others have begun to wait for it. */
static void roll_for_all(void) {
  int rank, word = 0;
  MPI_Request request;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) {
    for (int i = 0; i < 2; ++i) {
      MPI_Recv(&word, 1, MPI_INT, 2 * i, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    memcpy(all, own, sizeof all);
  }
  MPI_Ibcast(all, many, MPI_LONG, 1, MPI_COMM_WORLD, &request);
  if (rank != 1) MPI_Send(&word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank = 0;
  long sum = 0, least = 0, most = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int count = argc > 2 && strcmp(argv[2], "long") == 0 ? many : 1;
  const int is_told = argc > 2 && count == 1;
  srand((unsigned)getpid());
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < count; ++i) own[i] = rand() % 6 + 1;
    if (count > 1) {
      roll_for_all();
    } else {
      MPI_Allreduce(own, all, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    }
    for (int i = 0; i < count; ++i) sum = sum * 7 + all[i];
    if (rank == 0 && is_told) printf("round %d: %ld\n", round, sum), fflush(stdout);
    if (rank == 1 && round == rounds / 2) die_once(argv[1]);
  }
  MPI_Reduce(&sum, &least, 1, MPI_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&sum, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", least == most ? "all agree" : "they differ");
  MPI_Finalize();
  return 0;
}
