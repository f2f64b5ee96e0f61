// SPDX-License-Identifier: Apache-2.0
// Ranks that are killed once, mostly after MPI_Finalize, when others have exited.
//   exits DIRECTORY MODE     the directory is empty
#define _GNU_SOURCE  // of clocks
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char* directory;
static int rank, size;

static const char* in_directory(const char* name, int number) {
  static char place[4096];
  snprintf(place, sizeof place, "%s/%s%d", directory, name, number);
  return place;
}

/// For the first that asks.
static int is_first(void) {
  return open(in_directory("killed", 0), O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;
}

/// A file that is there is whole.
static void tell_process(void) {
  char made[4096];
  snprintf(made, sizeof made, "%s.new", in_directory("process", rank));
  FILE* file = fopen(made, "w");
  fprintf(file, "%d\n", (int)getpid());
  fclose(file);
  rename(made, in_directory("process", rank));
}

static void await_end_of(int other) {
  int process = 0;
  FILE* file = fopen(in_directory("process", other), "r");
  if (file == NULL || fscanf(file, "%d", &process) != 1) abort();
  fclose(file);
  while (kill(process, 0) == 0) usleep(1000);
}

static void die_behind(int other) {
  if (access(in_directory("killed", 0), F_OK) == 0) return;
  await_end_of(other);
  if (is_first()) raise(SIGKILL);
}

static void pass(int from, int to, int messages) {
  for (int i = 0; i < messages; ++i) {
    int value = i;
    if (rank == from) MPI_Send(&value, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    if (rank == to) MPI_Recv(&value, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (value != i) abort();
  }
}

/// Rank 0 hears from the last one alone. Rank 1 has left the job then, and does not exit before
/// rank 0 is done.
static void one_is_needed(void) {
  const char* const ready = "ready";
  pass(size - 1, 0, 100);
  MPI_Finalize();
  if (rank == 0) {
    die_behind(size - 1);
    close(open(in_directory(ready, 0), O_CREAT | O_WRONLY, 0600));
    printf("rank 0 is done\n");
  }
  if (rank == 1) {
    while (access(in_directory(ready, 0), F_OK) != 0) usleep(1000);
  }
}

/// Rank 0 sends again more than waits for a peer that is not there.
static void sends_again(void) {
  pass(0, 1, 400000);
  MPI_Finalize();
  if (rank != 0) return;
  die_behind(1);
  printf("rank 0 is done\n");
}

static atomic_int is_printed;

/// Of another thread: nothing depends on what it reads.
static void* read_clock(void* nothing) {
  while (!is_printed) MPI_Wtime();
  return nothing;
}

/// Rank 0 has printed times after MPI_Finalize when it has to repeat itself for rank 1.
static void prints_times(void) {
  struct timespec now;
  pass(0, 1, 100);
  MPI_Finalize();
  if (rank == 1) die_behind(0);
  if (rank != 0) return;
  pthread_t other;
  pthread_create(&other, NULL, read_clock, NULL);
  for (int i = 0; i < 1000; ++i) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (i % 100 == 0) printf("%09ld, ", now.tv_nsec);
  }
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("%lld.%09ld s, MPI %.9f s, ", (long long)now.tv_sec, now.tv_nsec, MPI_Wtime());
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  printf("used %ld ns\n", now.tv_nsec);
  is_printed = 1;
  pthread_join(other, NULL);
}

/// The script that has started rank 0 hides that it is killed.
static void is_hidden(void) {
  pass(1, 0, 100);
  MPI_Finalize();
  if (rank != 0) return;
  if (is_first()) raise(SIGKILL);
  printf("rank 0 is done\n");
}

/// The same before MPI_Finalize, or the rank exits there.
static void vanishes(int exits) {
  pass(1, 0, 100);
  if (rank == 0 && exits) exit(0);
  if (rank == 0 && is_first()) raise(SIGKILL);
  MPI_Finalize();
  if (rank == 0) printf("rank 0 is done\n");
}

/// The script ends well while its program goes on, outside of MPI. The next life must be alone.
static void is_left_by_its_script(void) {
  pass(1, 0, 100);
  if (rank == 0 && is_first()) {
    kill(getppid(), SIGTERM);
    for (;;) pause();
  }
  MPI_Finalize();
  if (rank == 0) printf("rank 0 is done\n");
}

/// Rank 1 has no room for more, and waits for messages behind others that it does not take yet. In
/// a second life rank 0 repeats many before.
static void sends_to_a_full_inbox(int dies) {
  enum { kBodies = 1100, kSize = 20400, kShort = 10000 };
  static char bodies[kBodies][kSize];
  static MPI_Request requests[kBodies];
  pass(0, 1, 3000);
  for (int i = 0; i < 1100; ++i) {
    if (rank == 0) MPI_Send(bodies[0], kShort, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Recv(bodies[0], kShort, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  for (int i = 0; i < kBodies; ++i) {
    if (rank == 0) MPI_Isend(bodies[i], kSize, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[i]);
  }
  pass(0, 1, 1);
  pass(1, 0, 1);
  int word = 1;
  MPI_Bcast(&word, 1, MPI_INT, 1, MPI_COMM_WORLD);
  if (rank == 0 && dies && is_first()) raise(SIGKILL);
  pass(0, 1, 3000);
  if (rank == 0) MPI_Waitall(kBodies, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kBodies; ++i) {
    if (rank == 1) {
      MPI_Recv(bodies[i], kSize, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  MPI_Finalize();
  if (rank == 0) printf("rank 0 is done\n");
}

/// What rank 1 sends differs in each life. It has not printed times when it notices.
static void draws_after_times(void) {
  for (int i = 0; i < 20; ++i) {
    if (rank == 1) printf("%d: %.9f s\n", i, MPI_Wtime());
    int value = i == 5 ? (int)getpid() : i;
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && i == 10 && is_first()) raise(SIGKILL);
  }
  MPI_Finalize();
}

/// More outcomes than its log has room for.
static void fills_log(void) {
  for (int i = 0; i < 5000; ++i) MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1 && is_first()) raise(SIGKILL);
  MPI_Finalize();
  printf("rank %d is done\n", rank);
}

int main(int argc, char** argv) {
  directory = argv[1];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  tell_process();
  if (strcmp(argv[2], "one") == 0) one_is_needed();
  if (strcmp(argv[2], "sends") == 0) sends_again();
  if (strcmp(argv[2], "times") == 0) prints_times();
  if (strcmp(argv[2], "hidden") == 0) is_hidden();
  if (strcmp(argv[2], "vanishes") == 0) vanishes(0);
  if (strcmp(argv[2], "exits") == 0) vanishes(1);
  if (strcmp(argv[2], "room") == 0) sends_to_a_full_inbox(1);
  if (strcmp(argv[2], "calm") == 0) sends_to_a_full_inbox(0);
  if (strcmp(argv[2], "orphan") == 0) is_left_by_its_script();
  if (strcmp(argv[2], "draws") == 0) draws_after_times();
  if (strcmp(argv[2], "full") == 0) fills_log();
  return 0;
}
