// SPDX-License-Identifier: Apache-2.0
// Question: how long do the most frequent operations of MPI take? Rank 0 prints one line per
// operation, "NAME VALUE": medians over batches. Ranks exchange in pairs, 0 with 1, 2 with 3;
// run.py runs it on weft and on the MPI that it was compiled for.
//
//   latency_8       µs one way, 8 bytes
//   rate_8          million messages per second of one rank, in windows of 64 messages of 8 bytes
//   bandwidth_1m    GB/s of one rank, in windows of 16 messages of 1 MiB
//   allreduce_8     µs, of one double
//   barrier         µs
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWindow = 64, kLargeWindow = 16, kLarge = 1 << 20, kMostBatches = 15 };

struct Self {
  int rank;
  int peer;
  char* buffer;
};

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void ping_pong(const struct Self* self) {
  const int first = self->rank % 2 == 0;
  for (int turn = 0; turn < 2; ++turn) {
    if (first == (turn == 0)) {
      MPI_Send(self->buffer, 8, MPI_BYTE, self->peer, 1, MPI_COMM_WORLD);
    } else {
      MPI_Recv(self->buffer, 8, MPI_BYTE, self->peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
}

// Answered by an empty message.
static void window_of(const struct Self* self, int size, int window) {
  MPI_Request requests[kWindow];
  const int sends = self->rank % 2 == 0;
  for (int k = 0; k < window; ++k) {
    if (sends) {
      MPI_Isend(self->buffer, size, MPI_BYTE, self->peer, 2, MPI_COMM_WORLD, &requests[k]);
    } else {
      MPI_Irecv(self->buffer, size, MPI_BYTE, self->peer, 2, MPI_COMM_WORLD, &requests[k]);
    }
  }
  MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
  if (sends) {
    MPI_Recv(self->buffer, 0, MPI_BYTE, self->peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(self->buffer, 0, MPI_BYTE, self->peer, 3, MPI_COMM_WORLD);
  }
}

static void small_window(const struct Self* self) {
  window_of(self, 8, kWindow);
}

static void large_window(const struct Self* self) {
  window_of(self, kLarge, kLargeWindow);
}

static void allreduce(const struct Self* self) {
  double mine = self->rank, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void barrier(const struct Self* self) {
  (void)self;
  MPI_Barrier(MPI_COMM_WORLD);
}

static double time_of(void (*step)(const struct Self*), const struct Self* self, long steps) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begun = MPI_Wtime();
  for (long i = 0; i < steps; ++i) step(self);
  return MPI_Wtime() - begun;
}

// Seconds of a step: the median of batches of about `batch_seconds`, as rank 0 guesses. Few batches
// where even one step takes long.
static double measure(void (*step)(const struct Self*), const struct Self* self,
                      double batch_seconds) {
  long steps = 1;
  double took = time_of(step, self, steps);
  for (;;) {
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (took > batch_seconds / 4 || steps > 100 * 1000 * 1000) break;
    steps *= 4;
    took = time_of(step, self, steps);
  }
  double times[kMostBatches];
  const int batches = took > 8 * batch_seconds ? 3 : kMostBatches;
  for (int i = 0; i < batches; ++i) times[i] = time_of(step, self, steps) / (double)steps;
  qsort(times, (size_t)batches, sizeof *times, compare);
  return times[batches / 2];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks % 2 != 0) {
    fprintf(stderr, "an even number of ranks is needed, not %d: run it with mpirun -n 2\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const double batch_seconds = argc > 1 ? atof(argv[1]) : 0.02;
  struct Self self = {rank, rank ^ 1, malloc(kLarge)};
  if (self.buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < kLarge; ++i) self.buffer[i] = (char)i;
  // The first steps wait for the others to come, and tell nothing of how many a batch shall have.
  time_of(ping_pong, &self, 1000);
  const double latency = measure(ping_pong, &self, batch_seconds) / 2 * 1e6;
  const double rate = kWindow / measure(small_window, &self, batch_seconds) / 1e6;
  const double bandwidth =
      (double)kLargeWindow * kLarge / measure(large_window, &self, batch_seconds) / 1e9;
  const double reduce = measure(allreduce, &self, batch_seconds) * 1e6;
  const double wait = measure(barrier, &self, batch_seconds) * 1e6;
  if (rank == 0) {
    printf("latency_8 %.4f\nrate_8 %.4f\nbandwidth_1m %.4f\nallreduce_8 %.4f\nbarrier %.4f\n",
           latency, rate, bandwidth, reduce, wait);
  }
  free(self.buffer);
  MPI_Finalize();
  return 0;
}
