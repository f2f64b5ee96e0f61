// SPDX-License-Identifier: Apache-2.0
// What each process sends depends on every clock of the C library, and on random numbers seeded by
// one. Rank 1 kills itself once, in the midst. Prints a number that depends on all readings.
//   clocks DIRECTORY     where it leaves a file when it was killed
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

enum { rounds = 40 };

static int backwards;

/* Never goes back, whichever life it is. */
static long processor_us(void) {
  static long last;
  struct rusage used;
  struct timespec at;
  getrusage(RUSAGE_SELF, &used);
  const long us = used.ru_utime.tv_sec * 1000000L + used.ru_utime.tv_usec;
  backwards += us < last;
  last = us;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return us + at.tv_sec * 1000000000L + at.tv_nsec;
}

static long all_clocks(void) {
  struct timeval day;
  struct timespec now, wall;
  struct tms used;
  gettimeofday(&day, NULL);
  clock_gettime(CLOCK_MONOTONIC, &now);
  timespec_get(&wall, TIME_UTC);
  return day.tv_usec + now.tv_nsec + wall.tv_nsec + clock() + time(NULL) + times(&used) +
         used.tms_utime + processor_us();
}

/* Some processor time. */
static void work(void) {
  volatile double x = 1;
  for (int i = 0; i < 200000; ++i) x = x * 1.0000001;
}

static void die_once(const char* directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s/killed", directory);
  if (open(path, O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) kill(getpid(), SIGKILL);
}

int main(int argc, char** argv) {
  int rank = 0, size = 0;
  long sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  srand((unsigned)time(NULL) + (unsigned)clock());
  for (int round = 0; round < rounds; ++round) {
    long own = all_clocks() + rand(), all = 0;
    work();
    MPI_Allreduce(&own, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    sum = sum * 31 + all;
    if (rank == 0 && round % 10 == 0) printf("round %d: %ld\n", round, sum), fflush(stdout);
    if (rank == 1 && round == rounds / 2) die_once(argv[1]);
  }
  long least = 0, most = 0;
  MPI_Reduce(&sum, &least, 1, MPI_LONG, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&sum, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", least == most ? "all agree" : "they differ");
  if (backwards > 0) printf("rank %d: processor time went back\n", rank);
  MPI_Finalize();
  return 0;
}
