// SPDX-License-Identifier: Apache-2.0
// Rounds in which all processes send each other large messages, taken in the order in which they
// come, and small ones. What a process sends depends on all that it has received. Prints a number
// that depends on every byte. Processes may be killed.
//   bulk ROUNDS
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { words = 1 << 16, most_ranks = 16 };

static int rank, size;

static unsigned long mix(unsigned long state, const unsigned long* data) {
  unsigned long sum = 0;
  for (int i = 0; i < words; i += 16) sum += data[i] * (unsigned long)(i + 1);
  return state * 6364136223846793005ul + sum;
}

/* The sum of what came does not depend on the order. */
static unsigned long exchange(int round, unsigned long state, unsigned long* own,
                              unsigned long* other) {
  MPI_Request sends[most_ranks];
  unsigned long came = 0;
  int n = 0;
  for (int i = 0; i < words; ++i) own[i] = state ^ (unsigned long)(i * (rank + 1));
  for (int to = 0; to < size; ++to) {
    if (to != rank) {
      MPI_Isend(own, words, MPI_UNSIGNED_LONG, to, round % 7, MPI_COMM_WORLD, &sends[n++]);
    }
  }
  for (int i = 1; i < size; ++i) {
    MPI_Status status;
    MPI_Recv(other, words, MPI_UNSIGNED_LONG, MPI_ANY_SOURCE, round % 7, MPI_COMM_WORLD, &status);
    came += mix((unsigned long)status.MPI_SOURCE + 1, other);
  }
  MPI_Waitall(n, sends, MPI_STATUSES_IGNORE);
  return state * 31 + came;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  unsigned long* const own = malloc(words * sizeof *own);
  unsigned long* const other = malloc(words * sizeof *other);
  if (size > most_ranks || own == NULL || other == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  unsigned long state = (unsigned long)rank + 1, sum = 0;
  for (int round = 0; round < rounds; ++round) {
    state = exchange(round, state, own, other);
    const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    unsigned long small = 0;
    MPI_Sendrecv(&state, 1, MPI_UNSIGNED_LONG, next, 9, &small, 1, MPI_UNSIGNED_LONG, previous, 9,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    state ^= small * 3;
    if (rank == 0 && round % 50 == 0) printf("round %d: %016lx\n", round, state), fflush(stdout);
  }
  MPI_Allreduce(&state, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("bulk of %d rounds: %016lx\n", rounds, sum);
  MPI_Finalize();
  return 0;
}
