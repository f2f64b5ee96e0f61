// SPDX-License-Identifier: Apache-2.0
// Short operations of all ranks, often enough that they share a board (docs/mpi.md).
//   meetings rounds N        many, mixed with messages; prints a line about the results
//   meetings boards          prints how many boards rank 0 has
//   meetings boards threads  likewise, where rank 1 has threads that call MPI
//   meetings killed          rank 1 is killed while others wait in a barrier
//   meetings CASE            rank 1 calls something else than the others
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { enough = 40, large = 1 << 18 };

static int rank, size, failures;

static int is(const char* a, const char* b) {
  return strcmp(a, b) == 0;
}

static void expect(int is_right, const char* what, int round) {
  if (is_right) return;
  if (failures++ == 0) fprintf(stderr, "rank %d, round %d: %s\n", rank, round, what);
}

static int boards(void) {
  char line[4096];
  int count = 0;
  FILE* const maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) count += strstr(line, "weft-board") != NULL;
  fclose(maps);
  return count;
}

/* Associative, and does not commute: maps x -> a x + b. */
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  const unsigned* const left = in;
  unsigned* const right = inout;
  for (int i = 0; i < *count; ++i) {
    const unsigned a = left[2 * i], b = left[2 * i + 1];
    right[2 * i + 1] = a * right[2 * i + 1] + b;
    right[2 * i] = a * right[2 * i];
  }
}

static void reduce(MPI_Comm comm, int round) {
  int own, members;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &members);
  int sum = own + round;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect(sum == members * round + members * (members - 1) / 2, "a sum", round);
  double mine[16], most[16];
  for (int i = 0; i < 16; ++i) mine[i] = (own * 7 + round + i) % members;
  MPI_Allreduce(mine, most, 16, MPI_DOUBLE, MPI_MAX, comm);
  for (int i = 0; i < 16; ++i) {
    double wanted = 0;
    for (int k = 0; k < members; ++k) {
      const double one = (k * 7 + round + i) % members;
      if (one > wanted) wanted = one;
    }
    expect(most[i] == wanted, "a maximum", round);
  }
  struct {
    double value;
    int place;
  } pair = {(own + round) % members, own}, least;
  MPI_Allreduce(&pair, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  expect((least.place + round) % members == 0, "the place of the minimum", round);
}

static void fold_own(MPI_Op op, MPI_Datatype map, MPI_Comm comm, int round) {
  int own, members;
  MPI_Comm_rank(comm, &own);
  MPI_Comm_size(comm, &members);
  const unsigned mine[2] = {3 + own, round};
  unsigned got[2], wanted[2] = {1, 0};
  MPI_Allreduce(mine, got, 1, map, op, comm);
  for (unsigned k = 0; k < (unsigned)members; ++k) {
    wanted[1] = wanted[0] * (unsigned)round + wanted[1];
    wanted[0] *= 3 + k;
  }
  expect(got[0] == wanted[0] && got[1] == wanted[1], "an operation of the program's", round);
}

/* The same operation on the same values gives the same bits, now and later. */
static void sum_in_one_order(MPI_Comm comm, int round) {
  static double first[4];
  double values[4], sums[4];
  for (int i = 0; i < 4; ++i) values[i] = 1.0 / (3 + i + rank * rank);
  MPI_Allreduce(values, sums, 4, MPI_DOUBLE, MPI_SUM, comm);
  if (round == 0) memcpy(first, sums, sizeof first);
  expect(memcmp(first, sums, sizeof first) == 0, "a sum has other bits", round);
}

static void messages(int round, int* from, int* to) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Request requests[2];
  to[0] = to[large - 1] = rank + round;
  MPI_Irecv(from, large, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(to, large, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 5; ++i) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  expect(from[0] == left + round && from[large - 1] == left + round, "a message", round);
}

/* More communicators than there may be boards. */
static void communicators(void) {
  MPI_Comm kept[80], half, one;
  for (int i = 0; i < 80; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &kept[i]);
  for (int round = 0; round < enough; ++round) {
    for (int i = 0; i < 80; ++i) reduce(kept[i], round);
  }
  expect(boards() <= 64, "more boards than there may be", 0);
  for (int i = 0; i < 80; ++i) MPI_Comm_free(&kept[i]);
  expect(boards() <= 1, "boards that no communicator has", 0);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  for (int round = 0; round < enough; ++round) {
    reduce(half, round);
    if (rank % 2 == 0) MPI_Barrier(half);
    if (round % 8 == 0) MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_free(&half);
  for (int i = 0; i < 70; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    for (int k = 0; k < 20; ++k) MPI_Barrier(one);
    MPI_Comm_free(&one);
  }
}

static void meet(int rounds) {
  int* const from = calloc(large, sizeof(int));
  int* const to = calloc(large, sizeof(int));
  volatile int* place;
  volatile int* others[64];
  MPI_Win window;
  MPI_Op op;
  MPI_Datatype map;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &place, &window);
  for (int i = 0; i < size; ++i) {
    MPI_Aint bytes;
    int unit;
    MPI_Win_shared_query(window, i, &bytes, &unit, &others[i]);
  }
  MPI_Op_create(compose, 0, &op);
  MPI_Type_contiguous(2, MPI_UNSIGNED, &map);
  MPI_Type_commit(&map);
  *place = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < rounds; ++round) {
    *place = round;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < size; ++i) expect(*others[i] >= round, "a barrier lets through", round);
    reduce(MPI_COMM_WORLD, round);
    fold_own(op, map, MPI_COMM_WORLD, round);
    sum_in_one_order(MPI_COMM_WORLD, round);
    if (round % 50 == 3) messages(round, from, to);
    // Others fall asleep meanwhile.
    if (round == rounds / 2 && rank == 1) usleep(1000000);
    if (round % 97 == 5 && rank == round % size) usleep(2000);
  }
  communicators();
  MPI_Win_free(&window);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d failures\n", size, failures);
  free(from);
  free(to);
}

/* Rank 1 calls the second of two operations. */
static void differ(const char* what) {
  const MPI_Comm all = MPI_COMM_WORLD;
  const int is_other = rank == 1;
  int* const in = calloc(large, sizeof(int));
  int* const out = calloc(large, sizeof(int));
  MPI_Request request = MPI_REQUEST_NULL;
  if (is(what, "operations")) {
    is_other ? MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, all) : MPI_Barrier(all);
  } else if (is(what, "sizes")) {
    MPI_Allreduce(in, out, is_other ? 4 : 2, MPI_INT, MPI_SUM, all);
  } else if (is(what, "large")) {
    MPI_Allreduce(in, out, is_other ? 400 : 2, MPI_INT, MPI_SUM, all);
  } else if (is(what, "larger")) {
    MPI_Allreduce(in, out, is_other ? large : 2, MPI_INT, MPI_SUM, all);
  } else if (is(what, "root")) {
    is_other ? MPI_Bcast(in, 1, MPI_INT, 1, all) : MPI_Barrier(all);
  } else if (is(what, "leaf")) {
    is_other ? MPI_Bcast(in, 1, MPI_INT, 0, all) : MPI_Barrier(all);
  } else if (is(what, "large-leaf")) {
    is_other ? MPI_Bcast(in, large, MPI_INT, 0, all) : MPI_Barrier(all);
  } else if (is(what, "nonblocking")) {
    is_other ? MPI_Ibarrier(all, &request) : MPI_Barrier(all);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(all);
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  MPI_Session session;
  MPI_Info info;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Info_create(&info);
  MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
  if (rank == 1 && argc > 2 && is(argv[2], "threads")) {
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
  }
  if (is(what, "rounds")) {
    meet(atoi(argv[2]));
  } else {
    for (int i = 0; i < enough; ++i) MPI_Barrier(MPI_COMM_WORLD);
    if (is(what, "killed") && rank == 1) raise(SIGKILL);
    if (is(what, "boards")) {
      if (rank == 0) printf("%d boards\n", boards());
    } else {
      differ(what);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  if (rank == 1 && argc > 2 && is(argv[2], "threads")) MPI_Session_finalize(&session);
  MPI_Finalize();
  return 0;
}
