// SPDX-License-Identifier: Apache-2.0
// Collective operations of all kinds, blocking, as requests, and persistent.
#include "digest.h"

#define MAX 8
static int counts[MAX], places[MAX], all;

// Blocks of 1, 2, 3 … numbers, with a gap behind each.
static void lay_out(void) {
  all = 0;
  for (int i = 0; i < size; ++i) {
    counts[i] = i + 1;
    places[i] = all;
    all += counts[i] + 1;
  }
}

// Not commutative: 2x2 matrices modulo a prime.
static void multiply(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  unsigned* a = in;
  unsigned* b = inout;
  for (int i = 0; i < *n; ++i, a += 4, b += 4) {
    const unsigned r[4] = {(a[0] * b[0] + a[1] * b[2]) % 9973, (a[0] * b[1] + a[1] * b[3]) % 9973,
                           (a[2] * b[0] + a[3] * b[2]) % 9973, (a[2] * b[1] + a[3] * b[3]) % 9973};
    memcpy(b, r, sizeof r);
  }
}

// A struct with a gap, folded by the program.
struct place {
  double value;
  int where;
};
static void furthest(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  struct place* a = in;
  struct place* b = inout;
  for (int i = 0; i < *n; ++i) {
    if (a[i].value > b[i].value) b[i].value = a[i].value;
    b[i].where += a[i].where;
  }
}

static void blocks_of_each_size(void) {
  const int root = size - 1;
  int *in = numbers(all), *out = blank(all);
  MPI_Gatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, root, MPI_COMM_WORLD);
  say("gatherv", out, all * sizeof *out);
  MPI_Scatterv(in, counts, places, MPI_INT, out, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
  say("scatterv", out, all * sizeof *out);
  MPI_Allgatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  say("allgatherv", out, all * sizeof *out);
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
  say("allgatherv in place", in, all * sizeof *in);
  if (rank == root) {
    MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INT, in, counts, places, MPI_INT, root, MPI_COMM_WORLD);
  } else {
    MPI_Gatherv(in, counts[rank], MPI_INT, NULL, NULL, NULL, MPI_INT, root, MPI_COMM_WORLD);
  }
  say("gatherv in place", in, all * sizeof *in);
  if (rank == root) {
    MPI_Scatterv(in, counts, places, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, root, MPI_COMM_WORLD);
  } else {
    MPI_Scatterv(NULL, NULL, NULL, MPI_INT, out, counts[rank], MPI_INT, root, MPI_COMM_WORLD);
  }
  say("scatterv in place", out, all * sizeof *out);
  free(in);
  free(out);
}

// rank sends min(rank, other) + 1 numbers, both ways the same.
static void all_to_all(void) {
  int sizes[MAX], at[MAX], bytes[MAX], end = 0;
  MPI_Datatype types[MAX], gaps;
  MPI_Type_vector(1, 1, 2, MPI_INT, &gaps);
  MPI_Type_create_resized(gaps, 0, 8, &gaps);
  MPI_Type_commit(&gaps);
  for (int i = 0; i < size; ++i) {
    sizes[i] = (i < rank ? i : rank) + 1;
    at[i] = end;
    bytes[i] = end * 4;
    types[i] = (i + rank) % 2 == 0 ? MPI_INT : gaps;
    end += 2 * sizes[i] + 1;
  }
  int *in = numbers(end), *out = blank(end);
  MPI_Alltoallv(in, sizes, at, MPI_INT, out, sizes, at, MPI_INT, MPI_COMM_WORLD);
  say("alltoallv", out, end * sizeof *out);
  MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, in, sizes, at, MPI_INT, MPI_COMM_WORLD);
  say("alltoallv in place", in, end * sizeof *in);
  MPI_Alltoallw(in, sizes, bytes, types, out, sizes, bytes, types, MPI_COMM_WORLD);
  say("alltoallw", out, end * sizeof *out);
  MPI_Type_free(&gaps);
  free(in);
  free(out);
}

static void folds(void) {
  int *in = numbers(all), *out = blank(all);
  MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  say("reduce_scatter", out, all * sizeof *out);
  MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  say("reduce_scatter_block", out, all * sizeof *out);
  MPI_Scan(in, out, all, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  say("scan", out, all * sizeof *out);
  MPI_Exscan(in, out, all, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
  if (rank > 0) memset(in, 0, 4);
  say("exscan", rank > 0 ? out : in, all * sizeof *out);
  MPI_Scan(MPI_IN_PLACE, out, all, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  say("scan in place", rank > 0 ? out : in, all * sizeof *out);
  MPI_Reduce_local(in, out, all, MPI_INT, MPI_SUM);
  say("reduce_local", rank > 0 ? out : in, all * sizeof *out);
  free(in);
  free(out);
  MPI_Datatype matrix;
  MPI_Op op;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Op_create(multiply, 0, &op);
  unsigned m[8] = {rank + 1, 2, 3, rank + 5, 1, rank, rank + 7, 4}, product[8] = {0};
  MPI_Allreduce(m, product, 2, matrix, op, MPI_COMM_WORLD);
  say("product", product, sizeof product);
  MPI_Scan(m, product, 2, matrix, op, MPI_COMM_WORLD);
  say("scan of products", product, sizeof product);
  MPI_Op_free(&op);
  MPI_Type_free(&matrix);
  int lengths[2] = {1, 1};
  MPI_Aint at[2] = {0, 8};
  MPI_Datatype parts[2] = {MPI_DOUBLE, MPI_INT}, whole;
  MPI_Type_create_struct(2, lengths, at, parts, &whole);
  MPI_Type_create_resized(whole, 0, sizeof(struct place), &whole);
  MPI_Type_commit(&whole);
  MPI_Op_create(furthest, 1, &op);
  struct place mine[3], most[3];
  memset(mine, 0, sizeof mine);
  memset(most, 0, sizeof most);
  for (int i = 0; i < 3; ++i) mine[i].value = (rank * 7 + i) % 5, mine[i].where = rank + i;
  MPI_Allreduce(mine, most, 3, whole, op, MPI_COMM_WORLD);
  say("elements with gaps", most, sizeof most);
  MPI_Op_free(&op);
  MPI_Type_free(&whole);
}

// Many under way at once, more than have flows of their own, and blocking ones among them.
static void many_at_once(void) {
  enum { n = 200 };
  MPI_Request requests[n];
  int *in = numbers(n), *sums = blank(n), value = rank;
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 0)
      MPI_Iallreduce(&in[i], &sums[i], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]);
    if (i % 3 == 1) MPI_Iscan(&in[i], &sums[i], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[i]);
    if (i % 3 == 2) {
      sums[i] = in[i];
      MPI_Ibcast(&sums[i], 1, MPI_INT, i % size, MPI_COMM_WORLD, &requests[i]);
    }
    if (i % 40 == 0) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  sums[0] += value;
  say("many at once", sums, n * sizeof *sums);
  free(in);
  free(sums);
}

static void as_requests(void) {
  MPI_Request request, several[3];
  int *in = numbers(all), *out = blank(all), *big = numbers(100000), *sum = blank(100000), flag = 0;
  MPI_Status status;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  while (!flag) MPI_Test(&request, &flag, &status);
  MPI_Iallreduce(big, sum, 100000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &several[0]);
  MPI_Igatherv(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, 0, MPI_COMM_WORLD,
               &several[1]);
  int* other = blank(all);
  MPI_Iallgatherv(in, counts[rank], MPI_INT, other, counts, places, MPI_INT, MPI_COMM_WORLD,
                  &several[2]);
  MPI_Waitall(3, several, MPI_STATUSES_IGNORE);
  say("iallreduce", sum, 100000 * sizeof *sum);
  say("igatherv", out, all * sizeof *out);
  say("iallgatherv", other, all * sizeof *other);
  MPI_Ireduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &several[0]);
  MPI_Ialltoall(in, 1, MPI_INT, other, 1, MPI_INT, MPI_COMM_WORLD, &several[1]);
  MPI_Iexscan(in, sum, 3, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &several[2]);
  int index, left = 3;
  while (left-- > 0) MPI_Waitany(3, several, &index, MPI_STATUS_IGNORE);
  say("ireduce_scatter_block", out, all * sizeof *out);
  say("ialltoall", other, all * sizeof *other);
  say("iexscan", rank > 0 ? sum : out, 3 * sizeof *sum);
  free(in), free(out), free(other), free(big), free(sum);
}

static void persistent(void) {
  MPI_Request requests[2];
  int *in = numbers(all), *out = blank(all), value = 0;
  MPI_Allgatherv_init(in, counts[rank], MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD,
                      MPI_INFO_NULL, &requests[0]);
  MPI_Bcast_init(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < all; ++i) in[i] += round;
    value = rank + round;
    if (round < 2) {
      MPI_Startall(2, requests);
    } else {  // each process may start them in an order of its own
      MPI_Start(&requests[rank % 2]);
      MPI_Start(&requests[1 - rank % 2]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    out[places[0]] += value;
    say("persistent", out, all * sizeof *out);
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  free(in);
  free(out);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  lay_out();
  blocks_of_each_size();
  all_to_all();
  folds();
  many_at_once();
  as_requests();
  persistent();
  MPI_Finalize();
  return 0;
}
