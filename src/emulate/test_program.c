// SPDX-License-Identifier: Apache-2.0
// An MPI program for tests of emulation: it checks received data, or goes wrong in a chosen way.
//   exchange   every kind of communication, checked; exits 0 when all is right
//   counter    rank 1 adds to a counter of rank 0, one-sided, 20 times, each flushed; then all
//   share
//              plain memory
//   reads      rank 1 reads 8,000 bytes of rank 0, one-sided, 50 times
//   probes     rank 1 sends 10 messages, which rank 0 probes for before it receives them
//   overtakes  three ranks; the way from 1 to 0 is the longest: messages of others overtake its own
//   pmpi       exchanges, begun and ended as bindings of other languages do
//   silent     MPI_Init, MPI_Finalize, nothing between
//   code       exchanges and exits with 3
//   dies       exchanges, then rank 1 kills itself
//   exits      exchanges, then all exit without MPI_Finalize
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, failures;

static void expect(int right, const char* what, long at) {
  if (right) return;
  if (failures++ == 0) fprintf(stderr, "rank %d: %s is wrong at %ld\n", rank, what, at);
}

static unsigned char pattern(int from, long at, int round) {
  return (unsigned char)(31 * from + 7 * at + 13 * round + (at >> 8));
}

static void ring_of_sizes(void) {
  static const int sizes[] = {0, 1, 8, 64, 76, 84, 92, 100, 1000, 8192, 20000, 70000, 300000};
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
    const int n = sizes[i];
    unsigned char* out = malloc((size_t)n + 1);
    unsigned char* in = malloc((size_t)n + 1);
    for (long j = 0; j < n; ++j) out[j] = pattern(rank, j, (int)i);
    MPI_Sendrecv(out, n, MPI_BYTE, next, (int)i, in, n, MPI_BYTE, previous, (int)i, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (long j = 0; j < n; ++j) expect(in[j] == pattern(previous, j, (int)i), "a message", j);
    free(out);
    free(in);
  }
}

// Messages of mixed sizes from one sender are matched in the order in which they were sent.
static void order_of_many(void) {
  enum { count = 300 };
  static int values[count][600];
  MPI_Request requests[count];
  for (int i = 0; i < count; ++i) {
    const int n = i % 7 == 0 ? 600 : 1 + i % 5;
    if (rank == 0) {
      for (int j = 0; j < n; ++j) values[i][j] = i;
      MPI_Isend(values[i], n, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[i]);
    } else if (rank == 1) {
      MPI_Irecv(values[i], 600, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[i]);
    }
  }
  if (rank > 1) return;
  for (int i = 0; i < count; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  for (int i = 0; i < count; ++i) expect(values[i][0] == i, "the order", i);
}

static void collectives(void) {
  int sum = 0;
  int mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(sum == ranks * (ranks + 1) / 2, "a sum", 0);
  int* out = malloc(sizeof(int) * (size_t)ranks);
  int* in = malloc(sizeof(int) * (size_t)ranks);
  for (int i = 0; i < ranks; ++i) out[i] = 100 * rank + i;
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < ranks; ++i) expect(in[i] == 100 * i + rank, "alltoall", i);
  free(out);
  free(in);
}

static void one_sided(void) {
  enum { words = 4096 };
  long* memory = NULL;
  MPI_Win window;
  MPI_Win_allocate(words * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &window);
  for (int i = 0; i < words; ++i) memory[i] = -1;
  static long out[words / 2];
  static long in[words / 2];
  for (int i = 0; i < words / 2; ++i) out[i] = 1000L * rank + i;
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  MPI_Win_fence(0, window);
  MPI_Put(out, words / 2, MPI_LONG, next, 1, words / 2, MPI_LONG, window);
  MPI_Win_fence(0, window);
  for (int i = 0; i < words / 2; ++i) expect(memory[1 + i] == 1000L * previous + i, "a put", i);
  MPI_Get(in, words / 2, MPI_LONG, next, 1, words / 2, MPI_LONG, window);
  memory[words - 1] = 0;
  MPI_Win_fence(0, window);
  for (int i = 0; i < words / 2; ++i) expect(in[i] == 1000L * rank + i, "a get", i);
  const long one = 1;
  long before = 0;
  for (int i = 0; i < 20; ++i) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, words - 1, MPI_SUM, window);
    MPI_Win_unlock(0, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    expect(memory[words - 1] == 20L * ranks, "a counter", memory[words - 1]);
    MPI_Win_unlock(0, window);
  }
  MPI_Win_free(&window);
}

static void counter(void) {
  const long one = 1;
  long before = 0;
  long* memory = NULL;
  MPI_Win window;
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < 20 && rank == 1; ++i) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    expect(before == i, "a counter", before);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Win_allocate_shared(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                          &window);
  MPI_Win_free(&window);
}

static void reads(void) {
  enum { bytes = 8000 };
  static unsigned char in[bytes];
  unsigned char* memory = NULL;
  MPI_Win window;
  MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (long j = 0; j < bytes; ++j) memory[j] = pattern(rank, j, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < 50 && rank == 1; ++i) {
    MPI_Get(in, bytes, MPI_BYTE, 0, 0, bytes, MPI_BYTE, window);
    MPI_Win_flush(0, window);
    for (long j = 0; j < bytes; ++j) expect(in[j] == pattern(0, j, 0), "a read", j);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

static void probes(void) {
  unsigned char in = 0;
  MPI_Status status;
  for (int i = 0; i < 10 && rank < 2; ++i) {
    unsigned char out = pattern(1, i, 0);
    if (rank == 1) {
      MPI_Send(&out, 1, MPI_BYTE, 0, i, MPI_COMM_WORLD);
    } else {
      MPI_Probe(1, i, MPI_COMM_WORLD, &status);
      MPI_Recv(&in, 1, MPI_BYTE, 1, i, MPI_COMM_WORLD, &status);
      expect(in == out, "a message that was probed", i);
    }
  }
}

static void overtakes(void) {
  int word = 0, first = -1, in[2];
  MPI_Request requests[2];
  if (rank == 0) {
    MPI_Irecv(&in[0], 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, 2, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitany(2, requests, &first, MPI_STATUS_IGNORE);
    expect(first == 1, "the first message, from the nearer rank,", first);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    // Of two messages the second is received first: the other has been there as long.
    MPI_Recv(&word, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(&in[0], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, 2, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(&word, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
    MPI_Waitany(2, requests, &first, MPI_STATUS_IGNORE);
    expect(first == 0, "the first message, there already,", first);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else if (rank == 1) {
    MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Send(&word, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
    MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Send(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
  } else if (rank == 2) {
    MPI_Recv(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "exchange";
  const int by_pmpi = strcmp(what, "pmpi") == 0;
  if (by_pmpi) PMPI_Init(&argc, &argv);
  if (!by_pmpi) MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(what, "counter") == 0) {
    counter();
  } else if (strcmp(what, "reads") == 0) {
    reads();
  } else if (strcmp(what, "probes") == 0) {
    probes();
  } else if (strcmp(what, "overtakes") == 0) {
    overtakes();
  } else if (strcmp(what, "silent") != 0) {
    ring_of_sizes();
    order_of_many();
    collectives();
    one_sided();
  }
  if (strcmp(what, "dies") == 0 && rank == 1) raise(SIGKILL);
  if (strcmp(what, "exits") == 0) exit(0);
  if (rank == 0 && failures == 0) printf("all right\n");
  if (by_pmpi) PMPI_Finalize();
  if (!by_pmpi) MPI_Finalize();
  if (strcmp(what, "code") == 0) return 3;
  return failures == 0 ? 0 : 1;
}
