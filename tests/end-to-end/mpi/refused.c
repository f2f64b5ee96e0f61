// SPDX-License-Identifier: Apache-2.0
// Calls that a program gets wrong: each ends the job with one line.
//   refused CASE
//   refused OPERATION COUNT0 COUNT1     a collective operation, with these counts in rank 0 and 1
//   refused roots ROOT0 ROOT1 | another 0 1    operations that fit in their sizes
//   refused groups|neighbors|ineighbors COUNT    others of two groups, or of a grid's neighbours
//   refused long-CASE                     likewise, whose messages do not name them
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int is(const char* a, const char* b) {
  return strcmp(a, b) == 0;
}

static void access_window(const char* what, int rank) {
  long memory[2] = {0, 0}, origin[2] = {1, 2};
  MPI_Win window;
  MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  // 2^61 times 8 is 0 in 64 bits.
  if (is(what, "put-far")) MPI_Put(origin, 1, MPI_LONG, 1 - rank, 1L << 61, 1, MPI_LONG, window);
  if (is(what, "put-longer")) MPI_Put(origin, 2, MPI_LONG, 1 - rank, 1, 1, MPI_LONG, window);
  if (is(what, "accumulate-shorter")) {
    MPI_Accumulate(origin, 1, MPI_LONG, 1 - rank, 0, 2, MPI_LONG, MPI_SUM, window);
  }
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
}

static void join_broken_socket(void) {
  int ends[2];
  MPI_Comm made;
  socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
  close(ends[1]);
  MPI_Comm_join(ends[0], &made);
}

static void send_too_much(int rank) {
  MPI_Datatype row, rows;
  MPI_Type_contiguous(INT_MAX, MPI_DOUBLE, &row);
  MPI_Type_vector(2, 1, 2, row, &rows);
  MPI_Type_commit(&rows);
  MPI_Send(&rank, INT_MAX, rows, 1 - rank, 0, MPI_COMM_WORLD);
}

/* Two blocks of one number, at these displacements. */
static void see_file(int first, int second, int mode) {
  const int lengths[2] = {2, 1}, displacements[2] = {first, second};
  MPI_File file;
  MPI_Datatype tile;
  MPI_Type_indexed(2, lengths, displacements, MPI_INT, &tile);
  MPI_Type_commit(&tile);
  MPI_File_open(MPI_COMM_SELF, "/dev/zero", mode, MPI_INFO_NULL, &file);
  MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
  MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL);
  MPI_File_close(&file);
}

static void collective(const char* what, int count) {
  const MPI_Comm all = MPI_COMM_WORLD;
  int* const in = calloc(1 << 19, sizeof(int));
  int* const out = calloc(1 << 19, sizeof(int));
  const int counts[2] = {count, count}, offsets[2] = {0, count};
  MPI_Request request = MPI_REQUEST_NULL;
  if (is(what, "bcast")) MPI_Bcast(in, count, MPI_INT, 0, all);
  if (is(what, "reduce")) MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, all);
  if (is(what, "allreduce")) MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, all);
  while (is(what, "reduces")) MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, all);
  while (is(what, "allreduces")) MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, all);
  if (is(what, "gather")) MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, 0, all);
  if (is(what, "scatter")) MPI_Scatter(in, count, MPI_INT, out, count, MPI_INT, 0, all);
  if (is(what, "allgather")) MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, all);
  if (is(what, "scan")) MPI_Scan(in, out, count, MPI_INT, MPI_SUM, all);
  if (is(what, "ibcast")) MPI_Ibcast(in, count, MPI_INT, 0, all, &request);
  if (is(what, "alltoallv")) {
    MPI_Alltoallv(in, counts, offsets, MPI_INT, out, counts, offsets, MPI_INT, all);
  }
  // Another operation in each rank.
  if (is(what, "mixed") && count > 0) MPI_Bcast(in, count, MPI_INT, 0, all);
  if (is(what, "mixed") && count == 0) MPI_Allreduce(in, out, 100000, MPI_INT, MPI_SUM, all);
  if (is(what, "roots")) MPI_Bcast(in, 1, MPI_INT, count, all);
  if (is(what, "another") && count == 0) MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, all);
  if (is(what, "another") && count == 1) MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, all);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(all);
}

/* Operations of 400 kB that both ranks wait in, each for the other. Their messages have no names.
 */
static void wait_in_another(const char* what, int rank) {
  enum { count = 100000 };
  const MPI_Comm all = MPI_COMM_WORLD;
  int* const in = calloc(count, sizeof(int));
  int* const out = calloc(count, sizeof(int));
  MPI_Request request = MPI_REQUEST_NULL;
  if (is(what, "long-roots")) MPI_Bcast(in, count, MPI_INT, rank, all);
  if (is(what, "long-nonblocking")) {
    rank == 0 ? MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, all, &request)
              : MPI_Ibcast(in, count, MPI_INT, 1, all, &request);
  }
  if (is(what, "long-mixed") && rank == 0) MPI_Bcast(in, count, MPI_INT, 0, all);
  if (is(what, "long-mixed") && rank == 1) MPI_Ibcast(in, count, MPI_INT, 0, all, &request);
  if (is(what, "long-persistent")) {
    MPI_Bcast_init(in, count, MPI_INT, rank, all, MPI_INFO_NULL, &request);
    MPI_Start(&request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Another operation in each rank, each of two groups or of two neighbours. */
static void exchange_otherwise(const char* what, int rank, int count) {
  const int ring = 2, periodic = 1, lengths[2] = {count, count}, places[2] = {0, count};
  int* const in = calloc(2 * count, sizeof(int));
  int* const out = calloc(2 * count, sizeof(int));
  MPI_Comm groups, neighbors;
  MPI_Request request;
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - rank, 0, &groups);
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ring, &periodic, 0, &neighbors);
  if (is(what, "groups") && rank == 0)
    MPI_Alltoall(in, count, MPI_INT, out, count, MPI_INT, groups);
  if (is(what, "groups") && rank == 1) MPI_Bcast(in, count, MPI_INT, MPI_ROOT, groups);
  if (is(what, "groups")) MPI_Barrier(groups);
  if (is(what, "neighbors") && rank == 0) {
    MPI_Neighbor_allgather(in, count, MPI_INT, out, count, MPI_INT, neighbors);
  } else if (is(what, "neighbors")) {
    MPI_Neighbor_alltoallv(in, lengths, places, MPI_INT, out, lengths, places, MPI_INT, neighbors);
  } else if (is(what, "ineighbors") && rank == 0) {
    MPI_Ineighbor_allgather(in, count, MPI_INT, out, count, MPI_INT, neighbors, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (is(what, "ineighbors")) {
    // Waits for a message that is not sent.
    MPI_Ialltoall(in, count, MPI_INT, out, count, MPI_INT, neighbors, &request);
    MPI_Recv(in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  MPI_Request none = MPI_REQUEST_NULL, receive;
  int rank, value = 0, flag;
  if (is(what, "wait-before")) MPI_Wait(&none, MPI_STATUS_IGNORE);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  access_window(what, rank);
  if (argc == 3) exchange_otherwise(what, rank, atoi(argv[2]));
  if (argc > 3) collective(what, atoi(argv[2 + rank]));
  if (strncmp(what, "long-", 5) == 0) wait_in_another(what, rank);
  if (is(what, "code-of-success")) MPI_Add_error_code(MPI_SUCCESS, &value);
  if (is(what, "view-negative")) see_file(-2, 0, MPI_MODE_RDONLY);
  if (is(what, "view-back")) see_file(4, 0, MPI_MODE_RDONLY);
  if (is(what, "view-twice")) see_file(0, 1, MPI_MODE_RDONLY);
  if (is(what, "view-twice")) see_file(0, 1, MPI_MODE_RDWR);
  if (is(what, "abort")) MPI_Abort(MPI_COMM_WORLD, 256);
  if (is(what, "join")) join_broken_socket();
  if (is(what, "send-too-much")) send_too_much(rank);
  if (is(what, "window-too-large")) {
    MPI_Win window;
    void* base;
    MPI_Win_allocate((MPI_Aint)1 << 60, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  }
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &receive);
  MPI_Finalize();
  if (is(what, "wait-after")) MPI_Wait(&receive, MPI_STATUS_IGNORE);
  if (is(what, "test-after")) MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
  return 0;
}
