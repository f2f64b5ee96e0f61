// SPDX-License-Identifier: Apache-2.0
// Starts itself, and other programs of its own, while it runs; groups that meet at a port and by a
// name. Prints sums that depend on all processes.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int good, const char* what) {
  if (good) return;
  ++failures;
  printf("%s is wrong\n", what);
  fflush(stdout);
}

// Parents and children exchange both kinds of messages and use a merged communicator.
static int work(MPI_Comm between, int is_parent) {
  int rank, size, remote;
  MPI_Comm_rank(between, &rank);
  MPI_Comm_size(between, &size);
  MPI_Comm_remote_size(between, &remote);
  int long_one[50000];
  if (is_parent && rank == 0) {
    for (int child = 0; child < remote; ++child) {
      for (int i = 0; i < 50000; ++i) long_one[i] = i + child;
      MPI_Send(long_one, 50000, MPI_INT, child, 3, between);
      int answer = 0;
      MPI_Recv(&answer, 1, MPI_INT, child, 4, between, MPI_STATUS_IGNORE);
      check(answer == 49999 + child, "an answer");
    }
  } else if (!is_parent) {
    MPI_Recv(long_one, 50000, MPI_INT, 0, 3, between, MPI_STATUS_IGNORE);
    MPI_Send(&long_one[49999], 1, MPI_INT, 0, 4, between);
  }
  MPI_Comm all;
  MPI_Intercomm_merge(between, !is_parent, &all);
  int place, sum = 0;
  MPI_Comm_rank(all, &place);
  check(place == (is_parent ? rank : remote + rank), "a place");
  MPI_Allreduce(&place, &sum, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_free(&all);
  return sum;
}

static void child(MPI_Comm parent, const char* word) {
  int rank, size, flag, *appnum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag);
  check(strcmp(word, flag && *appnum == 1 ? "second" : "first") == 0, "an argument");
  int sum = rank + 1, all = 0;
  MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(all == size * (size + 1) / 2, "the sum of a world");
  work(parent, 0);
  MPI_Comm_disconnect(&parent);
  MPI_Comm_get_parent(&parent);
  check(parent == MPI_COMM_NULL, "no parent");
}

// Groups of odd and of even ranks meet at a port, which one of them publishes.
static int meet(int rank, int size) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm half, between;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (rank == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name("weft test", MPI_INFO_NULL, port);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank % 2 == 0) {
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &between);
  } else {
    if (rank == 1) MPI_Lookup_name("weft test", MPI_INFO_NULL, port);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &between);
  }
  int sum = 0, others;
  MPI_Comm_remote_size(between, &others);
  check(others == (rank % 2 == 0 ? size / 2 : (size + 1) / 2), "the other group");
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, between);
  MPI_Comm_disconnect(&between);
  if (rank == 0) {
    MPI_Unpublish_name("weft test", MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
  MPI_Comm_free(&half);
  return sum;
}

// No port has such a number.
static void check_damaged_ports(void) {
  char port[MPI_MAX_PORT_NAME];
  const char* numbers[] = {":", ":0", ":-1", ":1073741824", ":99999999999"};
  MPI_Comm made;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int i = 0; i < 5; ++i) {
    MPI_Open_port(MPI_INFO_NULL, port);
    strcpy(strrchr(port, ':'), numbers[i]);
    int class = MPI_SUCCESS;
    MPI_Error_class(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made), &class);
    check(class == MPI_ERR_PORT, numbers[i]);
  }
}

static int class_of(int error) {
  int class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  return class;
}

// Nobody accepts at a port that was closed, before or after somebody connects.
static void check_closed_ports(int rank, int size) {
  char port[MPI_MAX_PORT_NAME];
  MPI_Comm made;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Open_port(MPI_INFO_NULL, port);
  check(MPI_Close_port(port) == MPI_SUCCESS, "a port that is closed");
  check(class_of(MPI_Close_port(port)) == MPI_ERR_PORT, "a port that is closed twice");
  check(class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made)) == MPI_ERR_PORT,
        "a closed port");
  check(class_of(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made)) == MPI_ERR_PORT,
        "a closed port to accept at");
  if (rank == 0 && size > 1) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Ssend(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 8, MPI_COMM_WORLD);
    MPI_Close_port(port);
  } else if (rank == 1) {
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(class_of(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made)) == MPI_ERR_PORT,
          "another process's port");
    check(class_of(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &made)) == MPI_ERR_PORT,
          "a port that is being closed");
  }
}

// Processes that cannot be had are an error, and the job goes on.
static void try_to_start(char* self, char* command, int processes) {
  MPI_Comm children;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int error = MPI_Comm_spawn(command, MPI_ARGV_NULL, processes, MPI_INFO_NULL, 0,
                                   MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
  check(class_of(error) == MPI_ERR_SPAWN && children == MPI_COMM_NULL, "an error");
  char* first[] = {"first", NULL};
  MPI_Comm_spawn(self, first, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
  printf("sum %d\n", work(children, 1));
  MPI_Comm_disconnect(&children);
}

struct Starter {
  char* program;
  MPI_Comm comm;
  int sum;
};

static void* start_by_thread(void* argument) {
  struct Starter* starter = argument;
  char* first[] = {"first", NULL};
  MPI_Comm children;
  MPI_Comm_spawn(starter->program, first, 2, MPI_INFO_NULL, 0, starter->comm, &children,
                 MPI_ERRCODES_IGNORE);
  starter->sum = work(children, 1);
  MPI_Comm_disconnect(&children);
  return NULL;
}

// Threads ask for processes at the same time.
static void start_by_threads(char* program) {
  enum { count = 4 };
  pthread_t threads[count];
  struct Starter starters[count];
  for (int i = 0; i < count; ++i) {
    starters[i].program = program;
    MPI_Comm_dup(MPI_COMM_SELF, &starters[i].comm);
  }
  for (int i = 0; i < count; ++i) {
    pthread_create(&threads[i], NULL, start_by_thread, &starters[i]);
  }
  for (int i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    check(starters[i].sum == 3, "the sum of a thread");
    MPI_Comm_free(&starters[i].comm);
  }
  printf("%d threads\n", count);
}

int main(int argc, char** argv) {
  int level;
  const int by_threads = argc > 1 && strcmp(argv[1], "threads") == 0;
  MPI_Init_thread(&argc, &argv, by_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm parent, children;
  MPI_Comm_get_parent(&parent);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (parent != MPI_COMM_NULL) {
    child(parent, argc > 1 ? argv[1] : "");
  } else if (by_threads) {
    start_by_threads(argv[0]);
  } else if (argc > 2 && strcmp(argv[1], "tries") == 0) {
    try_to_start(argv[0], argv[2], atoi(argv[3]));
  } else if (argc > 2) {
    MPI_Comm_spawn(argv[2], MPI_ARGV_NULL, argc > 3 ? atoi(argv[3]) : 1, MPI_INFO_NULL, 0,
                   MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
  } else {
    char* first[] = {"first", NULL};
    char* second[] = {"second", NULL};
    int codes[5] = {-1, -1, -1, -1, -1};
    MPI_Comm_spawn(argv[0], first, 3, MPI_INFO_NULL, size - 1, MPI_COMM_WORLD, &children, codes);
    check(codes[0] == MPI_SUCCESS && codes[2] == MPI_SUCCESS && codes[3] == -1, "codes");
    int sum = work(children, 1);
    MPI_Comm_disconnect(&children);
    check(children == MPI_COMM_NULL, "no children");
    // Each process by itself, two programs at once.
    char* commands[] = {argv[0], argv[0]};
    char** arguments[] = {first, second};
    int counts[] = {1, 2};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm_spawn_multiple(2, commands, arguments, counts, infos, 0, MPI_COMM_SELF, &children,
                            MPI_ERRCODES_IGNORE);
    int own = work(children, 1), total;
    MPI_Comm_disconnect(&children);
    MPI_Allreduce(&own, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int met = size > 1 ? meet(rank, size) : 0;
    // All processes learn of a program that cannot start, and of a spawn of no processes.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int error = MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0,
                               MPI_COMM_WORLD, &children, codes);
    check(class_of(error) == MPI_ERR_SPAWN && codes[0] != MPI_SUCCESS, "an error");
    error = MPI_Comm_spawn(argv[0], first, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, codes);
    check(class_of(error) == MPI_ERR_ARG && children == MPI_COMM_NULL, "an error of all processes");
    check_damaged_ports();
    check_closed_ports(rank, size);
    if (rank == 0) printf("%d processes, sums %d, %d, %d\n", size, sum, total, met);
  }
  int all = 0;
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return all != 0;
}
