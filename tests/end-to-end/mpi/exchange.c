// SPDX-License-Identifier: Apache-2.0
// A program of MPI's that knows nothing of weft: each function of the slice once, its results
// checked. Rank 0 prints a checksum that depends on the number of processes alone.
//   exchange [ROUNDS]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void check(int good, const char* what) {
  if (good) return;
  fprintf(stderr, "rank %d: %s is wrong\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

// Round a ring: eager, synchronous, and larger than any eager limit.
static unsigned ring(int count, int tag, MPI_Comm comm) {
  int me, n;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &n);
  int* out = malloc(count * sizeof *out);
  int* in = malloc(count * sizeof *in);
  for (int i = 0; i < count; ++i) out[i] = me * 1000 + i;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(in, count, MPI_INT, (me + n - 1) % n, tag, comm, &requests[0]);
  if (tag % 2 == 0) {
    MPI_Isend(out, count, MPI_INT, (me + 1) % n, tag, comm, &requests[1]);
  } else {
    MPI_Issend(out, count, MPI_INT, (me + 1) % n, tag, comm, &requests[1]);
  }
  MPI_Waitall(2, requests, statuses);
  int received;
  MPI_Get_count(&statuses[0], MPI_INT, &received);
  check(received == count && statuses[0].MPI_SOURCE == (me + n - 1) % n, "a ring's status");
  unsigned sum = 0;
  for (int i = 0; i < count; ++i) {
    check(in[i] == (me + n - 1) % n * 1000 + i, "a ring's message");
    sum = sum * 31 + (unsigned)in[i];
  }
  free(out);
  free(in);
  return sum;
}

// Two tags, received in the other order, and by wildcards.
static void matching(void) {
  int value = -1, flag;
  MPI_Status status;
  if (rank == 0) {
    for (int to = 1; to < size; ++to) {
      int one = 1, two = 2;
      MPI_Send(&one, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
      MPI_Send(&two, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
    }
    for (int i = 1; i < size; ++i) {
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
      check(value == status.MPI_SOURCE && status.MPI_TAG == 10 + value, "a wildcard");
    }
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    check(flag, "a cancelled receive");
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &status);
    check(value == 2, "the second message");
    MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    check(value == 1 && status.MPI_TAG == 1, "the first message");
    MPI_Ssend(&rank, 1, MPI_INT, 0, 10 + rank, MPI_COMM_WORLD);
  }
}

static void my_max(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) {
    if (((int*)in)[i] > ((int*)inout)[i]) ((int*)inout)[i] = ((int*)in)[i];
  }
}

static void collectives(void) {
  double sum = 0, own = rank + 0.5;
  MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  check(sum == size * size / 2.0, "allreduce");
  int root = size - 1, value = rank == root ? 42 : 0;
  MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
  check(value == 42, "bcast");
  struct {
    int value, place;
  } in = {rank % 3, rank}, most = {0, 0};
  MPI_Reduce(&in, &most, 1, MPI_2INT, MPI_MAXLOC, root, MPI_COMM_WORLD);
  if (rank == root) check(most.value == (size > 2 ? 2 : size - 1), "maxloc");
  MPI_Op op;
  MPI_Op_create(my_max, 1, &op);
  value = rank;
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, op, MPI_COMM_WORLD);
  MPI_Op_free(&op);
  check(value == size - 1 && op == MPI_OP_NULL, "an operation of the program");
  int* all = calloc(size, sizeof *all);
  int* back = calloc(size, sizeof *back);
  MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) check(all[i] == i, "allgather");
  for (int i = 0; i < size; ++i) all[i] = rank * 100 + i;
  MPI_Alltoall(all, 1, MPI_INT, back, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < size; ++i) check(back[i] == i * 100 + rank, "alltoall");
  MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD);
  value = -1;
  MPI_Scatter(all, 1, MPI_INT, &value, 1, MPI_INT, root, MPI_COMM_WORLD);
  check(value == rank, "gather and scatter");
  MPI_Barrier(MPI_COMM_WORLD);
  free(all);
  free(back);
}

static void datatypes(void) {
  int matrix[8][8], column[8];
  MPI_Datatype type;
  MPI_Status status;
  for (int i = 0; i < 64; ++i) matrix[i / 8][i % 8] = i + rank;
  MPI_Type_vector(8, 1, 8, MPI_INT, &type);
  MPI_Type_commit(&type);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  MPI_Sendrecv(&matrix[0][3], 1, type, to, 5, column, 8, MPI_INT, from, 5, MPI_COMM_WORLD, &status);
  for (int i = 0; i < 8; ++i) check(column[i] == i * 8 + 3 + from, "a column");
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  unsigned checksum = 0, sum = 0;
  MPI_Comm halves, copy;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &halves);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int round = 0; round < rounds; ++round) {
    for (int tag = 0; tag < 4; ++tag) {
      checksum = checksum * 33 + ring(1 << (tag * 6), tag, MPI_COMM_WORLD);
      checksum = checksum * 33 + ring(100, tag, halves);
      checksum = checksum * 33 + ring(5000, tag, copy);
    }
  }
  if (argc < 3) matching();
  collectives();
  datatypes();
  MPI_Comm_free(&halves);
  MPI_Comm_free(&copy);
  MPI_Reduce(&checksum, &sum, 1, MPI_UNSIGNED, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, checksum %u\n", size, sum);
  MPI_Finalize();
  return 0;
}
