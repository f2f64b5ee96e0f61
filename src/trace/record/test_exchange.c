// SPDX-License-Identifier: Apache-2.0
// An MPI program that uses all that a recorder must not miss: every way to send and to complete,
// communicators of its own, collectives, marks of progress. Prints the sum that all ranks agree on.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "weft/progress.h"

static int rank, ranks, next, before;

static void blocking(MPI_Comm c) {
  int out = rank, in = -1;
  MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, before, 1, c, MPI_STATUS_IGNORE);
  if (in != before) abort();
  MPI_Sendrecv_replace(&in, 1, MPI_INT, next, 2, before, 2, c, MPI_STATUS_IGNORE);
  if (rank == 0) {
    double many[50000] = {0};
    MPI_Ssend(many, 50000, MPI_DOUBLE, 1, 3, c);
  } else if (rank == 1) {
    static double many[50000];
    MPI_Status status;
    MPI_Probe(MPI_ANY_SOURCE, 3, c, &status);
    MPI_Recv(many, 50000, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, c, &status);
  }
}

static void overlapping(MPI_Comm c) {
  enum { messages = 5 };
  int out[messages], in[messages];
  MPI_Request requests[2 * messages];
  for (int i = 0; i < messages; ++i) {
    MPI_Irecv(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, 10 + i, c, &requests[i]);
  }
  for (int i = 0; i < messages; ++i) {
    out[i] = i;
    MPI_Isend(&out[i], 1, MPI_INT, next, 10 + i, c, &requests[messages + i]);
  }
  int index, flag = 0, done, indices[2 * messages];
  MPI_Waitany(messages, requests, &index, MPI_STATUS_IGNORE);
  while (!flag) MPI_Test(&requests[index == 1 ? 2 : 1], &flag, MPI_STATUS_IGNORE);
  MPI_Waitsome(2 * messages, requests, &done, indices, MPI_STATUSES_IGNORE);
  MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE);
  // Of no partner, and of oneself.
  MPI_Isend(out, 1, MPI_INT, MPI_PROC_NULL, 0, c, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Irecv(&in[0], 1, MPI_INT, 0, 4, MPI_COMM_SELF, &requests[0]);
  MPI_Send(out, 1, MPI_INT, 0, 4, MPI_COMM_SELF);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

static void persistent(MPI_Comm c) {
  int out = rank, in;
  MPI_Request requests[2];
  MPI_Recv_init(&in, 1, MPI_INT, before, 20, c, &requests[0]);
  MPI_Send_init(&out, 1, MPI_INT, next, 20, c, &requests[1]);
  for (int i = 0; i < 3; ++i) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void collectives(MPI_Comm c) {
  int members, member;
  MPI_Comm_size(c, &members);
  MPI_Comm_rank(c, &member);
  int* many = calloc((size_t)(4 * members), sizeof(int));
  int* counts = malloc((size_t)members * sizeof(int));
  int* offsets = malloc((size_t)members * sizeof(int));
  for (int i = 0; i < members; ++i) {
    counts[i] = 1 + i % 2;
    offsets[i] = 2 * i;
  }
  int one[2] = {1, 2}, two[2];
  MPI_Barrier(c);
  MPI_Bcast(one, 2, MPI_INT, members - 1, c);
  MPI_Reduce(one, two, 2, MPI_INT, MPI_SUM, 0, c);
  MPI_Gather(one, 2, MPI_INT, many, 2, MPI_INT, 0, c);
  MPI_Scatter(many, 2, MPI_INT, two, 2, MPI_INT, 0, c);
  MPI_Allgather(one, 2, MPI_INT, many, 2, MPI_INT, c);
  MPI_Alltoall(many, 1, MPI_INT, many + 2 * members, 1, MPI_INT, c);
  MPI_Scan(one, two, 2, MPI_INT, MPI_SUM, c);
  MPI_Exscan(one, two, 2, MPI_INT, MPI_SUM, c);
  MPI_Gatherv(one, counts[member], MPI_INT, many, counts, offsets, MPI_INT, 0, c);
  MPI_Scatterv(many, counts, offsets, MPI_INT, two, counts[member], MPI_INT, 0, c);
  MPI_Allgatherv(one, counts[member], MPI_INT, many, counts, offsets, MPI_INT, c);
  MPI_Reduce_scatter_block(many, two, 1, MPI_INT, MPI_SUM, c);
  MPI_Request request;
  MPI_Iallreduce(one, two, 2, MPI_INT, MPI_SUM, c, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  free(many);
  free(counts);
  free(offsets);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  next = (rank + 1) % ranks;
  before = (rank + ranks - 1) % ranks;
  MPI_Comm copy, half;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  for (int i = 0; i < 2; ++i) {
    blocking(i == 0 ? MPI_COMM_WORLD : copy);
    overlapping(copy);
    persistent(MPI_COMM_WORLD);
    collectives(i == 0 ? MPI_COMM_WORLD : half);
    weft_mark_progress();
  }
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
  if (rank == 0) printf("sum %d\n", sum);
  MPI_Finalize();
  return 0;
}
