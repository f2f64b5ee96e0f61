// SPDX-License-Identifier: Apache-2.0
// Question: is there an operation of MPI, and a size, that takes far longer than elsewhere? Rank 0
// prints one line for each, "NAME BYTES µs": the best of three batches, of the rank that took
// longest. Arguments: kinds (p: messages, c: collectives, w: windows), seconds of a batch. sweep.py
// runs it on weft and on Open MPI.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 64, kLargest = 1 << 20, kMostRounds = 200000 };

static int rank, ranks;
static char *from, *into;
static int bytes;
static MPI_Win win;
static MPI_Group peer_group;
static MPI_Datatype vector;

static const MPI_Comm all = MPI_COMM_WORLD;
static int floats(void) {
  return bytes / 4;
}

// One of ranks 0 and 1 after the other.
static void in_turn(MPI_Datatype type, int count,
                    int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm)) {
  for (int turn = 0; turn < 2 && rank < 2; ++turn) {
    if (rank == turn) {
      send(from, count, type, 1 - rank, 1, all);
    } else {
      MPI_Recv(into, count, type, 1 - rank, 1, all, MPI_STATUS_IGNORE);
    }
  }
}
static void ping_pong(void) {
  in_turn(MPI_BYTE, bytes, MPI_Send);
}
static void synchronous(void) {
  in_turn(MPI_BYTE, bytes, MPI_Ssend);
}
static void strided(void) {
  in_turn(vector, 1, MPI_Send);
}
static void window_of_sends(void) {
  MPI_Request requests[kWindow];
  if (rank > 1) return;
  for (int i = 0; i < kWindow; ++i) {
    if (rank == 0) {
      MPI_Isend(from, bytes, MPI_BYTE, 1, 1, all, &requests[i]);
    } else {
      MPI_Irecv(into, bytes, MPI_BYTE, 0, 1, all, &requests[i]);
    }
  }
  MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
  if (rank == 0) {
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, all, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(NULL, 0, MPI_BYTE, 0, 2, all);
  }
}
static void both_ways(void) {
  MPI_Request requests[2 * kWindow];
  if (rank > 1) return;
  for (int i = 0; i < kWindow; ++i) {
    MPI_Irecv(into, bytes, MPI_BYTE, 1 - rank, 1, all, &requests[i]);
    MPI_Isend(from, bytes, MPI_BYTE, 1 - rank, 1, all, &requests[kWindow + i]);
  }
  MPI_Waitall(2 * kWindow, requests, MPI_STATUSES_IGNORE);
}
static void round_a_ring(void) {
  MPI_Sendrecv(from, bytes, MPI_BYTE, (rank + 1) % ranks, 1, into, bytes, MPI_BYTE,
               (rank + ranks - 1) % ranks, 1, all, MPI_STATUS_IGNORE);
}

static void barrier(void) {
  MPI_Barrier(all);
}
static void bcast(void) {
  MPI_Bcast(into, bytes, MPI_BYTE, 0, all);
}
static void reduce(void) {
  MPI_Reduce(from, into, floats(), MPI_FLOAT, MPI_SUM, 0, all);
}
static void allreduce(void) {
  MPI_Allreduce(from, into, floats(), MPI_FLOAT, MPI_SUM, all);
}
static void gather(void) {
  MPI_Gather(from, bytes, MPI_BYTE, into, bytes, MPI_BYTE, 0, all);
}
static void scatter(void) {
  MPI_Scatter(from, bytes, MPI_BYTE, into, bytes, MPI_BYTE, 0, all);
}
static void allgather(void) {
  MPI_Allgather(from, bytes, MPI_BYTE, into, bytes, MPI_BYTE, all);
}
static void alltoall(void) {
  MPI_Alltoall(from, bytes, MPI_BYTE, into, bytes, MPI_BYTE, all);
}
static void reduce_scatter_block(void) {
  MPI_Reduce_scatter_block(from, into, floats(), MPI_FLOAT, MPI_SUM, all);
}
static void scan(void) {
  MPI_Scan(from, into, floats(), MPI_FLOAT, MPI_SUM, all);
}
static void iallreduce(void) {
  MPI_Request request;
  MPI_Iallreduce(from, into, floats(), MPI_FLOAT, MPI_SUM, all, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void ialltoall(void) {
  MPI_Request request;
  int done = 0;
  MPI_Ialltoall(from, bytes, MPI_BYTE, into, bytes, MPI_BYTE, all, &request);
  while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

// Rank 0 accesses rank 1, which waits in the next barrier.
static void put_locked(void) {
  if (rank != 0) return;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
  MPI_Put(from, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
  MPI_Win_unlock(1, win);
}
static void put(void) {
  if (rank != 0) return;
  MPI_Put(from, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
  MPI_Win_flush(1, win);
}
static void get(void) {
  if (rank != 0) return;
  MPI_Get(into, bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
  MPI_Win_flush(1, win);
}
static void accumulate(void) {
  if (rank != 0) return;
  MPI_Accumulate(from, floats(), MPI_FLOAT, 1, 0, floats(), MPI_FLOAT, MPI_SUM, win);
  MPI_Win_flush(1, win);
}
static void get_accumulate(void) {
  if (rank != 0) return;
  MPI_Get_accumulate(from, floats(), MPI_FLOAT, into, floats(), MPI_FLOAT, 1, 0, floats(),
                     MPI_FLOAT, MPI_SUM, win);
  MPI_Win_flush(1, win);
}
static void fetch_and_op(void) {
  if (rank != 0) return;
  MPI_Fetch_and_op(from, into, MPI_LONG, 1, 0, MPI_SUM, win);
  MPI_Win_flush(1, win);
}
static void put_and_fence(void) {
  MPI_Put(from, bytes, MPI_BYTE, (rank + 1) % ranks, 0, bytes, MPI_BYTE, win);
  MPI_Win_fence(0, win);
}
static void post_and_start(void) {
  for (int turn = 0; turn < 2 && rank < 2; ++turn) {
    if (rank == turn) {
      MPI_Win_start(peer_group, 0, win);
      MPI_Put(from, bytes, MPI_BYTE, 1 - rank, 0, bytes, MPI_BYTE, win);
      MPI_Win_complete(win);
    } else {
      MPI_Win_post(peer_group, 0, win);
      MPI_Win_wait(win);
    }
  }
}

struct Operation {
  const char* name;
  void (*run)(void);
  int most_bytes;  // 0: it has no sizes
};
static const struct Operation messages[] = {{"send", ping_pong, kLargest},
                                            {"ssend", synchronous, kLargest},
                                            {"64_sends", window_of_sends, kLargest},
                                            {"64_both_ways", both_ways, kLargest},
                                            {"sendrecv", round_a_ring, kLargest},
                                            {"strided", strided, kLargest},
                                            {NULL, NULL, 0}};
static const struct Operation collectives[] = {
    {"barrier", barrier, 0},
    {"bcast", bcast, kLargest},
    {"reduce", reduce, kLargest},
    {"allreduce", allreduce, kLargest},
    {"gather", gather, kLargest / 4},
    {"scatter", scatter, kLargest / 4},
    {"allgather", allgather, kLargest / 4},
    {"alltoall", alltoall, kLargest / 4},
    {"reduce_scatter", reduce_scatter_block, kLargest / 4},
    {"scan", scan, kLargest},
    {"iallreduce", iallreduce, kLargest},
    {"ialltoall", ialltoall, kLargest / 4},
    {NULL, NULL, 0}};
static const struct Operation locked[] = {
    {"lock_put", put_locked, kLargest}, {"post_start", post_and_start, kLargest}, {NULL, NULL, 0}};
static const struct Operation fenced[] = {{"fence_put", put_and_fence, kLargest}, {NULL, NULL, 0}};
static const struct Operation flushed[] = {{"put", put, kLargest},
                                           {"get", get, kLargest},
                                           {"accumulate", accumulate, kLargest},
                                           {"get_accumulate", get_accumulate, kLargest},
                                           {"fetch_and_op", fetch_and_op, 0},
                                           {NULL, NULL, 0}};

static double microseconds(void (*run)(void), int rounds) {
  double own, longest;
  MPI_Barrier(all);
  own = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) run();
  own = (MPI_Wtime() - own) / rounds * 1e6;
  MPI_Allreduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, all);
  return longest;
}

static void measure(const char* name, void (*run)(void), double seconds) {
  int rounds = 1;
  double best = microseconds(run, 4);
  while (best * rounds < seconds * 1e6 && rounds < kMostRounds) {
    rounds *= 4;
    best = microseconds(run, rounds);
  }
  for (int i = 0; i < 3; ++i) {
    const double now = microseconds(run, rounds);
    if (now < best) best = now;
  }
  if (rank == 0) printf("%s %d %.4g\n", name, bytes, best);
  fflush(stdout);
}

static void measure_all(const struct Operation* operations, double seconds) {
  static const int sizes[] = {8, 256, 2048, 8192, 16384, 65536, 262144, kLargest};
  for (; operations->name != NULL; ++operations) {
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
      bytes = sizes[i];
      if (operations->most_bytes == 0 && i > 0) break;
      if (operations->most_bytes > 0 && bytes > operations->most_bytes) break;
      MPI_Type_vector(bytes / 8, 1, 2, MPI_DOUBLE, &vector);
      MPI_Type_commit(&vector);
      measure(operations->name, operations->run, seconds);
      MPI_Type_free(&vector);
    }
  }
}

static void measure_windows(double seconds) {
  char* base;
  MPI_Group group;
  const int peer = 1 - rank;
  MPI_Win_allocate(kLargest, 1, MPI_INFO_NULL, all, &base, &win);
  memset(base, 0, kLargest);
  MPI_Comm_group(all, &group);
  if (rank < 2) MPI_Group_incl(group, 1, &peer, &peer_group);
  measure_all(locked, seconds);
  MPI_Win_fence(0, win);
  measure_all(fenced, seconds);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_lock_all(0, win);
  measure_all(flushed, seconds);
  MPI_Win_unlock_all(win);
  if (rank < 2) MPI_Group_free(&peer_group);
  MPI_Group_free(&group);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s KINDS SECONDS\n", argv[0]);
    return 2;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &ranks);
  // Room for all blocks, and for elements apart.
  const size_t room = (size_t)kLargest * (size_t)(ranks > 2 ? ranks : 2);
  from = calloc(room, 1);
  into = calloc(room, 1);
  if (from == NULL || into == NULL || ranks < 2) MPI_Abort(all, 1);
  memset(from, 0, room);
  memset(into, 0, room);
  const double seconds = atof(argv[2]);
  if (strchr(argv[1], 'p') != NULL) measure_all(messages, seconds);
  if (strchr(argv[1], 'c') != NULL) measure_all(collectives, seconds);
  if (strchr(argv[1], 'w') != NULL) measure_windows(seconds);
  MPI_Finalize();
  free(from);
  free(into);
  return 0;
}
