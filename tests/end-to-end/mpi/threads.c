// SPDX-License-Identifier: Apache-2.0
// Threads that communicate at the same time: each with messages of its own tag, with collective
// operations on a communicator of its own, and with wildcards.
#include <pthread.h>

#include "digest.h"

enum { threads = 4, rounds = 12 };
static MPI_Comm comms[threads];
static long sums[threads];

static void* work(void* argument) {
  const int own = (int)(long)argument;
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int out[3000], in[3000];
  long sum = 0;
  for (int round = 0; round < rounds; ++round) {
    const int count = round % 50 == 0 ? 3000 : round % 7 + 1;
    MPI_Request requests[2];
    MPI_Status status;
    for (int i = 0; i < count; ++i) out[i] = rank * 31 + own * 7 + round + i;
    MPI_Irecv(in, count, MPI_INT, round % 2 ? from : MPI_ANY_SOURCE, own, MPI_COMM_WORLD,
              &requests[0]);
    MPI_Isend(out, count, MPI_INT, to, own, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < count; ++i) sum = sum * 3 + in[i];
    int value = in[0], all;
    MPI_Allreduce(&value, &all, 1, MPI_INT, own % 2 ? MPI_MAX : MPI_SUM, comms[own]);
    sum += all;
    if (round % 10 == 0) MPI_Barrier(comms[own]);
    MPI_Datatype type;
    MPI_Type_contiguous(own + 1, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Sendrecv(out, 1, type, to, 50 + own, in, own + 1, MPI_INT, from, 50 + own, comms[own],
                 &status);
    MPI_Type_free(&type);
    sum += in[own];
  }
  sums[own] = sum;
  return NULL;
}

int main(int argc, char** argv) {
  int provided, queried;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Query_thread(&queried);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  say_int("multiple", provided == MPI_THREAD_MULTIPLE && queried == provided);
  pthread_t all[threads];
  for (int i = 0; i < threads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (long i = 0; i < threads; ++i) pthread_create(&all[i], NULL, work, (void*)i);
  for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
  say("threads", sums, sizeof sums);
  for (int i = 0; i < threads; ++i) MPI_Comm_free(&comms[i]);
  MPI_Finalize();
  return 0;
}
