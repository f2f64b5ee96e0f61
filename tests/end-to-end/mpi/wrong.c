// SPDX-License-Identifier: Apache-2.0
// Wrong calls whose errors MPI's standard names, under MPI_ERRORS_RETURN.
#include "digest.h"

static void expect(int code, int wanted, const char* what) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  if (error_class != wanted) {
    fprintf(stderr, "rank %d: %s gives class %d\n", rank, what, error_class);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
}

/// The class is MPI_ERR_ARG in MPICH.
static void expect_failure(int code, const char* what) {
  if (code == MPI_SUCCESS) expect(code, MPI_ERR_ARG, what);
}

static void on_error(MPI_Comm* comm, int* code, ...) {}
static void on_window_error(MPI_Win* win, int* code, ...) {}
static void on_file_error(MPI_File* file, int* code, ...) {}

/* Nowhere to store a result. */
static void nulls(void) {
  int ranges[1][3] = {{0, 0, 1}}, zero = 0;
  MPI_Aint lower;
  MPI_Group group, made;
  MPI_Win win;
  void* base;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Win_create(&zero, sizeof zero, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const int codes[] = {
      MPI_Win_create(&zero, sizeof zero, 1, MPI_INFO_NULL, MPI_COMM_SELF, NULL),
      MPI_Win_allocate(4, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, NULL),
      MPI_Win_allocate_shared(4, 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, NULL),
      MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, NULL),
      MPI_Win_get_group(win, NULL),
      MPI_Win_get_info(win, NULL),
      MPI_Win_get_name(win, NULL, &zero),
      MPI_Win_get_errhandler(win, NULL),
      MPI_Win_get_attr(win, MPI_WIN_SIZE, NULL, &zero),
      MPI_Comm_size(MPI_COMM_WORLD, NULL),
      MPI_Comm_rank(MPI_COMM_WORLD, NULL),
      MPI_Comm_group(MPI_COMM_WORLD, NULL),
      MPI_Comm_create(MPI_COMM_WORLD, group, NULL),
      MPI_Comm_dup(MPI_COMM_WORLD, NULL),
      MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, NULL),
      MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &zero, 0, NULL),
      MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, NULL),
      MPI_Comm_split(MPI_COMM_WORLD, 0, 0, NULL),
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, NULL),
      MPI_Comm_get_info(MPI_COMM_WORLD, NULL),
      MPI_Comm_create_errhandler(on_error, NULL),
      MPI_Win_create_errhandler(on_window_error, NULL),
      MPI_File_create_errhandler(on_file_error, NULL),
      MPI_Errhandler_free(NULL),
      MPI_Add_error_class(NULL),
      MPI_Add_error_code(MPI_ERR_OTHER, NULL),
      MPI_Add_error_string(MPI_ERR_OTHER, NULL),
      MPI_Group_size(group, NULL),
      MPI_Group_rank(group, NULL),
      MPI_Group_union(group, group, NULL),
      MPI_Group_range_incl(group, 1, ranges, NULL),
      MPI_Group_translate_ranks(group, 1, &zero, group, NULL),
      MPI_Type_contiguous(3, MPI_INT, NULL),
      MPI_Type_vector(3, 1, 2, MPI_INT, NULL),
      MPI_Type_size_x(MPI_INT, NULL),
      MPI_Type_get_extent(MPI_INT, &lower, NULL),
      MPI_Type_get_true_extent(MPI_INT, NULL, &lower)};
  for (unsigned i = 0; i < sizeof codes / sizeof *codes; ++i) expect(codes[i], MPI_ERR_ARG, "null");
  // The communicator goes on.
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Group_union(group, group, &made);
  MPI_Group_free(&made);
  MPI_Group_free(&group);
  MPI_Comm_free(&half);
  MPI_Win_free(&win);
  say_int("nulls", 1);
}

static void one_buffer_for_both(void) {
  int values[16] = {0};
  const MPI_Comm self = MPI_COMM_SELF;
  MPI_Request request;
  expect(MPI_Allreduce(values, values, 2, MPI_INT, MPI_SUM, self), MPI_ERR_BUFFER, "allreduce");
  expect(MPI_Reduce(values, values, 2, MPI_INT, MPI_SUM, 0, self), MPI_ERR_BUFFER, "reduce");
  expect(MPI_Iallreduce(values, values, 2, MPI_INT, MPI_SUM, self, &request), MPI_ERR_BUFFER,
         "iallreduce");
  expect(MPI_Scan(values, values, 2, MPI_INT, MPI_SUM, self), MPI_ERR_BUFFER, "scan");
  expect(MPI_Gather(values, 2, MPI_INT, values, 2, MPI_INT, 0, self), MPI_ERR_BUFFER, "gather");
  expect(MPI_Scatter(values, 2, MPI_INT, values, 2, MPI_INT, 0, self), MPI_ERR_BUFFER, "scatter");
  expect(MPI_Allgather(values, 2, MPI_INT, values, 2, MPI_INT, self), MPI_ERR_BUFFER, "allgather");
  expect(MPI_Alltoall(values, 2, MPI_INT, values, 2, MPI_INT, self), MPI_ERR_BUFFER, "alltoall");
  expect(MPI_Reduce_local(values, values, 2, MPI_INT, MPI_SUM), MPI_ERR_BUFFER, "reduce_local");
  const int counts[] = {2}, places[] = {0};
  expect(MPI_Allgatherv(values, 2, MPI_INT, values, counts, places, MPI_INT, self), MPI_ERR_BUFFER,
         "allgatherv");
  expect(MPI_Gatherv(values, 2, MPI_INT, values, counts, places, MPI_INT, 0, self), MPI_ERR_BUFFER,
         "gatherv");
  expect(MPI_Scatterv(values, counts, places, MPI_INT, values, 2, MPI_INT, 0, self), MPI_ERR_BUFFER,
         "scatterv");
  expect(MPI_Alltoallv(values, counts, places, MPI_INT, values, counts, places, MPI_INT, self),
         MPI_ERR_BUFFER, "alltoallv");
  expect(MPI_Reduce_scatter_block(values, values, 2, MPI_INT, MPI_SUM, self), MPI_ERR_BUFFER,
         "reduce_scatter_block");
  // Nothing overlaps.
  expect(MPI_Allreduce(values, values, 0, MPI_INT, MPI_SUM, self), MPI_SUCCESS, "no elements");
  expect(MPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_INT, MPI_SUM, self), MPI_SUCCESS, "in place");
  say_int("one buffer", 1);
}

/* Nowhere to read or to write. */
static void no_buffers(void) {
  int value = rank, root = 0;
  MPI_Comm self = MPI_COMM_SELF, world = MPI_COMM_WORLD;
  MPI_Request request;
  expect(MPI_Send(NULL, 1, MPI_INT, rank, 0, world), MPI_ERR_BUFFER, "send");
  expect(MPI_Isend(NULL, 100000, MPI_INT, rank, 0, world, &request), MPI_ERR_BUFFER, "isend");
  expect(MPI_Recv(NULL, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, MPI_STATUS_IGNORE), MPI_ERR_BUFFER,
         "recv");
  expect(MPI_Bcast(NULL, 1, MPI_INT, root, self), MPI_ERR_BUFFER, "bcast");
  expect(MPI_Reduce(NULL, &value, 1, MPI_INT, MPI_SUM, root, self), MPI_ERR_BUFFER, "reduce");
  expect(MPI_Allreduce(&value, NULL, 1, MPI_INT, MPI_SUM, self), MPI_ERR_BUFFER, "allreduce");
  expect(MPI_Gather(NULL, 1, MPI_INT, &value, 1, MPI_INT, root, self), MPI_ERR_BUFFER, "gather");
  expect(MPI_Alltoall(NULL, 1, MPI_INT, &value, 1, MPI_INT, self), MPI_ERR_BUFFER, "alltoall");
  // Nothing is read there, or MPI_BOTTOM is meant.
  expect(MPI_Bcast(NULL, 0, MPI_INT, root, self), MPI_SUCCESS, "no elements");
  expect(MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, world), MPI_SUCCESS, "no receiver");
  MPI_Aint place;
  MPI_Datatype absolute;
  MPI_Get_address(&value, &place);
  MPI_Type_create_hindexed_block(1, 1, &place, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  expect(MPI_Bcast(MPI_BOTTOM, 1, absolute, root, self), MPI_SUCCESS, "addresses");
  MPI_Type_free(&absolute);
  say_int("no buffers", 1);
}

/* To the right, within one array. The places of blocks of no bytes mean nothing. */
static void shift_in_one_array(void) {
  int values[2] = {rank, -1}, sent[64] = {0}, received[64] = {0}, from[64] = {0}, to[64] = {0};
  sent[(rank + 1) % size] = 1;
  received[(rank + size - 1) % size] = 1;
  to[(rank + size - 1) % size] = 1;
  expect(MPI_Alltoallv(values, sent, from, MPI_INT, values, received, to, MPI_INT, MPI_COMM_WORLD),
         MPI_SUCCESS, "shifted");
  say("shifted", values, sizeof values);
}

static void epochs(void) {
  int memory[2] = {0}, value = 0;
  MPI_Win win;
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const int sync = MPI_ERR_RMA_SYNC;
  expect(MPI_Get(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win), sync, "no epoch");
  expect(MPI_Win_flush(rank, win), sync, "flushed without a lock");
  expect(MPI_Win_flush_local_all(win), sync, "all flushed without a lock");
  expect_failure(MPI_Win_lock(99, rank, 0, win), "no kind of lock");
  expect_failure(MPI_Win_lock(MPI_LOCK_SHARED, rank, 12345678, win), "no assertion");
  expect_failure(MPI_Win_fence(12345678, win), "no assertion of a fence");
  expect(MPI_Win_unlock(rank, win), sync, "no lock");
  expect(MPI_Win_unlock_all(win), sync, "no lock of all");
  expect(MPI_Win_complete(win), sync, "no start");
  expect(MPI_Win_wait(win), sync, "no post");
  MPI_Win_fence(0, win);
  MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  say("fenced", memory, sizeof memory);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  MPI_Get(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win);
  expect(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), sync, "locked twice");
  expect(MPI_Win_lock_all(0, win), sync, "locked, and all");
  expect(MPI_Win_start(world, 0, win), sync, "locked, and started");
  expect(MPI_Win_free(&win), sync, "locked, and freed");
  MPI_Win_unlock(rank, win);
  // A lock has ended the fence's epoch.
  expect(MPI_Get(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win), sync, "after a lock");
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Group right, left;
  MPI_Group_incl(world, 1, &next, &right);
  MPI_Group_incl(world, 1, &before, &left);
  MPI_Win_post(left, 0, win);
  MPI_Win_start(right, 0, win);
  if (next != rank) {
    expect(MPI_Get(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win), sync, "none of the started");
  }
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Group_free(&right);
  MPI_Group_free(&left);
  MPI_Win_post(world, 0, win);
  MPI_Win_start(world, 0, win);
  MPI_Get(&value, 1, MPI_INT, rank, 1, 1, MPI_INT, win);
  expect(MPI_Win_start(world, 0, win), sync, "started twice");
  expect(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), sync, "started, and locked");
  expect(MPI_Win_free(&win), sync, "started, and freed");
  MPI_Win_complete(win);
  expect(MPI_Win_complete(win), sync, "completed twice");
  MPI_Win_wait(win);
  say_int("got", value);
  MPI_Win_free(&win);
  MPI_Group_free(&world);
}

static void swaps(void) {
  long memory = 7, wanted = 8, expected = 7, seen = 0;
  double real = 1;
  MPI_Datatype made;
  MPI_Win win;
  MPI_Type_contiguous(sizeof(long), MPI_BYTE, &made);
  MPI_Type_commit(&made);
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, win);
  expect(MPI_Compare_and_swap(&real, &real, &real, MPI_DOUBLE, rank, 0, win), MPI_ERR_TYPE,
         "double");
  expect(MPI_Compare_and_swap(&wanted, &expected, &seen, made, rank, 0, win), MPI_ERR_TYPE, "made");
  expect(MPI_Compare_and_swap(&wanted, &expected, &seen, MPI_LONG, rank, 0, win), MPI_SUCCESS,
         "long");
  MPI_Win_fence(0, win);
  const long result[] = {memory, seen};
  say("swapped", result, sizeof result);
  MPI_Win_free(&win);
  MPI_Type_free(&made);
}

static void forgive(MPI_File* file, int* code, ...) {
  *code = MPI_SUCCESS;
}

static void files(void) {
  MPI_File file;
  MPI_Errhandler handler;
  MPI_File_create_errhandler(forgive, &handler);
  expect(MPI_File_open(MPI_COMM_WORLD, "/none/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
         MPI_ERR_NO_SUCH_FILE, "no file");
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  expect(MPI_File_open(MPI_COMM_WORLD, "/none/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
         MPI_SUCCESS, "a handler that forgives");
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&handler);
  say_int("files", 1);
}

static void grids(void) {
  const int sizes[] = {size, size + 1}, periods[] = {0, 0};
  MPI_Comm grid = MPI_COMM_WORLD;
  const int code = MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &grid);
  say_int("a grid too large", code != MPI_SUCCESS && grid == MPI_COMM_NULL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  nulls();
  one_buffer_for_both();
  no_buffers();
  shift_in_one_array();
  epochs();
  swaps();
  files();
  grids();
  MPI_Finalize();
  return 0;
}
