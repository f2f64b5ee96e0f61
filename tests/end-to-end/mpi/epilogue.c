// SPDX-License-Identifier: Apache-2.0
// Ranks that print after MPI_Finalize. Their first life kills rank 0 once: in MPI_Finalize, or
// behind it.
//   epilogue DIRECTORY in|after [threads]     the directory is empty; threads: with
//   MPI_THREAD_MULTIPLE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char place[4096];

static const char* in_directory(const char* directory, const char* name) {
  snprintf(place, sizeof place, "%s/%s", directory, name);
  return place;
}

/// For the first that asks.
static int is_first(const char* directory) {
  return open(in_directory(directory, "killed"), O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
}

int main(int argc, char** argv) {
  int rank, size, sum = 0, level;
  MPI_Init_thread(&argc, &argv, argc > 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int dies_inside = strcmp(argv[2], "in") == 0;
  if (rank == 0) {
    FILE* file = fopen(in_directory(argv[1], "pid"), "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("rank %d of %d: sum %d\n", rank, size, sum);
  if (dies_inside && rank == size - 1 && is_first(argv[1])) {
    int process = 0;
    FILE* file = fopen(in_directory(argv[1], "pid"), "r");
    if (fscanf(file, "%d", &process) == 1) kill(process, SIGKILL);
    fclose(file);
  }
  MPI_Finalize();
  if (!dies_inside && rank == 0 && is_first(argv[1])) raise(SIGKILL);
  printf("rank %d: epilogue\n", rank);
  return 0;
}
