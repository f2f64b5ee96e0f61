// SPDX-License-Identifier: Apache-2.0
/* Null pointers where a call needs a request, an array, a key or a place for its result: each is an
   error of its class, under MPI_ERRORS_RETURN, and what comes after goes on. */
#include <mpi.h>
#include <stdio.h>

static int failures = 0, rank, size;

static void expect(int code, int wanted, const char* what) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  if (error_class == wanted) return;
  ++failures;
  printf("rank %d: %s gives class %d, not %d\n", rank, what, error_class, wanted);
}
#define REQUEST(call) expect(call, MPI_ERR_REQUEST, #call)
#define ARG(call) expect(call, MPI_ERR_ARG, #call)
#define FINE(call) expect(call, MPI_SUCCESS, #call)

static void completion(void) {
  MPI_Request none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status, statuses[2];
  int flag, index, done, indices[2];
  REQUEST(MPI_Wait(NULL, &status));
  REQUEST(MPI_Test(NULL, &flag, &status));
  REQUEST(MPI_Waitall(2, NULL, statuses));
  REQUEST(MPI_Testall(2, NULL, &flag, statuses));
  REQUEST(MPI_Waitany(2, NULL, &index, &status));
  REQUEST(MPI_Testany(2, NULL, &index, &flag, &status));
  REQUEST(MPI_Waitsome(2, NULL, &done, indices, statuses));
  REQUEST(MPI_Testsome(2, NULL, &done, indices, statuses));
  REQUEST(MPI_Cancel(NULL));
  REQUEST(MPI_Request_free(NULL));
  REQUEST(MPI_Start(NULL));
  REQUEST(MPI_Startall(1, NULL));
  ARG(MPI_Test(none, NULL, &status));
  ARG(MPI_Testall(2, none, NULL, statuses));
  ARG(MPI_Waitany(2, none, NULL, &status));
  ARG(MPI_Testany(2, none, NULL, &flag, &status));
  ARG(MPI_Testany(2, none, &index, NULL, &status));
  ARG(MPI_Waitsome(2, none, NULL, indices, statuses));
  ARG(MPI_Testsome(2, none, &done, NULL, statuses));
  ARG(MPI_Request_get_status(none[0], NULL, &status));
  FINE(MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE));
  FINE(MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE));
  FINE(MPI_Waitsome(0, NULL, &done, NULL, MPI_STATUSES_IGNORE));
  FINE(MPI_Startall(0, NULL));
}

static void messages(MPI_Comm world) {
  int value = 0;
  MPI_Status status;
  REQUEST(MPI_Isend(&value, 1, MPI_INT, rank, 0, world, NULL));
  REQUEST(MPI_Issend(&value, 1, MPI_INT, rank, 0, world, NULL));
  REQUEST(MPI_Irsend(&value, 1, MPI_INT, rank, 0, world, NULL));
  REQUEST(MPI_Ibsend(&value, 1, MPI_INT, rank, 0, world, NULL));
  REQUEST(MPI_Irecv(&value, 1, MPI_INT, rank, 0, world, NULL));
  REQUEST(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, world, NULL));
  REQUEST(MPI_Send_init(&value, 1, MPI_INT, rank, 0, world, NULL));
  REQUEST(MPI_Recv_init(&value, 1, MPI_INT, rank, 0, world, NULL));
  REQUEST(MPI_Grequest_start(NULL, NULL, NULL, NULL, NULL));
#if MPI_VERSION >= 4
  REQUEST(MPI_Isendrecv(&value, 1, MPI_INT, rank, 0, &size, 1, MPI_INT, rank, 0, world, NULL));
  REQUEST(MPI_Psend_init(&value, 1, 1, MPI_INT, rank, 0, world, MPI_INFO_NULL, NULL));
  REQUEST(MPI_Bcast_init(&value, 1, MPI_INT, 0, world, MPI_INFO_NULL, NULL));
#endif
  ARG(MPI_Iprobe(rank, 0, world, NULL, &status));
  ARG(MPI_Improbe(rank, 0, world, NULL, NULL, &status));
  ARG(MPI_Mprobe(MPI_PROC_NULL, 0, world, NULL, &status));
  ARG(MPI_Mrecv(&value, 1, MPI_INT, NULL, &status));
  int flag = 1;
  FINE(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &flag, &status));
  expect(flag ? MPI_ERR_OTHER : MPI_SUCCESS, MPI_SUCCESS, "nothing was sent");
}

static void statuses(void) {
  int count;
  MPI_Count large;
  MPI_Status status;
  ARG(MPI_Get_count(NULL, MPI_INT, &count));
  ARG(MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &count));
  ARG(MPI_Get_elements(NULL, MPI_INT, &count));
  ARG(MPI_Get_elements_x(MPI_STATUS_IGNORE, MPI_INT, &large));
  ARG(MPI_Test_cancelled(NULL, &count));
  ARG(MPI_Status_set_elements(NULL, MPI_INT, 1));
  ARG(MPI_Status_set_cancelled(MPI_STATUS_IGNORE, 1));
  FINE(MPI_Status_set_elements(&status, MPI_INT, 1));
  FINE(MPI_Status_set_cancelled(&status, 0));
  ARG(MPI_Get_count(&status, MPI_INT, NULL));
  ARG(MPI_Get_elements(&status, MPI_INT, NULL));
  ARG(MPI_Test_cancelled(&status, NULL));
}

static void collectives(MPI_Comm self) {
  int in[1] = {3}, out[1], counts[1] = {1}, places[1] = {0};
  MPI_Datatype types[1] = {MPI_INT};
  MPI_Request request;
  REQUEST(MPI_Ibarrier(self, NULL));
  REQUEST(MPI_Ibcast(in, 1, MPI_INT, 0, self, NULL));
  REQUEST(MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, self, NULL));
  REQUEST(MPI_Comm_idup(self, &self, NULL));
  ARG(MPI_Gatherv(in, 1, MPI_INT, out, NULL, places, MPI_INT, 0, self));
  ARG(MPI_Gatherv(in, 1, MPI_INT, out, counts, NULL, MPI_INT, 0, self));
  ARG(MPI_Scatterv(in, NULL, places, MPI_INT, out, 1, MPI_INT, 0, self));
  ARG(MPI_Scatterv(in, counts, NULL, MPI_INT, out, 1, MPI_INT, 0, self));
  ARG(MPI_Allgatherv(in, 1, MPI_INT, out, NULL, places, MPI_INT, self));
  ARG(MPI_Iallgatherv(in, 1, MPI_INT, out, counts, NULL, MPI_INT, self, &request));
  ARG(MPI_Alltoallv(in, NULL, places, MPI_INT, out, counts, places, MPI_INT, self));
  ARG(MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, NULL, MPI_INT, self));
  ARG(MPI_Alltoallw(in, counts, NULL, types, out, counts, places, types, self));
  ARG(MPI_Alltoallw(in, counts, places, types, out, counts, places, NULL, self));
  ARG(MPI_Reduce_scatter(in, out, NULL, MPI_INT, MPI_SUM, self));
  FINE(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, out, counts, places, MPI_INT, self));
}

/* Only the root has counts and places. */
static void significant_at_the_root(MPI_Comm world) {
  int all[64], counts[64], places[64], own = -1;
  const int is_root = rank == 0;
  for (int i = 0; i < size; ++i) counts[i] = 1, places[i] = i;
  FINE(MPI_Gatherv(&rank, 1, MPI_INT, all, is_root ? counts : NULL, is_root ? places : NULL,
                   MPI_INT, 0, world));
  FINE(MPI_Scatterv(all, is_root ? counts : NULL, is_root ? places : NULL, MPI_INT, &own, 1,
                    MPI_INT, 0, world));
  expect(own == rank ? MPI_SUCCESS : MPI_ERR_OTHER, MPI_SUCCESS, "scattered what was gathered");
}

static void datatypes(void) {
  const int one[1] = {1}, zero[1] = {0}, kinds[1] = {MPI_DISTRIBUTE_NONE};
  const MPI_Aint place[1] = {0};
  const MPI_Datatype types[1] = {MPI_INT};
  MPI_Datatype made;
  ARG(MPI_Type_indexed(1, NULL, zero, MPI_INT, &made));
  ARG(MPI_Type_indexed(1, one, NULL, MPI_INT, &made));
  ARG(MPI_Type_indexed(1, one, zero, MPI_INT, NULL));
  ARG(MPI_Type_create_hindexed(1, NULL, place, MPI_INT, &made));
  ARG(MPI_Type_create_hindexed(1, one, NULL, MPI_INT, &made));
  ARG(MPI_Type_create_indexed_block(1, 1, NULL, MPI_INT, &made));
  ARG(MPI_Type_create_hindexed_block(1, 1, NULL, MPI_INT, &made));
  ARG(MPI_Type_create_struct(1, NULL, place, types, &made));
  ARG(MPI_Type_create_struct(1, one, NULL, types, &made));
  ARG(MPI_Type_create_struct(1, one, place, NULL, &made));
  ARG(MPI_Type_create_subarray(1, NULL, one, zero, MPI_ORDER_C, MPI_INT, &made));
  ARG(MPI_Type_create_subarray(1, one, one, NULL, MPI_ORDER_C, MPI_INT, &made));
  ARG(MPI_Type_create_subarray(1, one, one, zero, MPI_ORDER_C, MPI_INT, NULL));
  ARG(MPI_Type_create_darray(1, 0, 1, NULL, kinds, one, one, MPI_ORDER_C, MPI_INT, &made));
  ARG(MPI_Type_create_darray(1, 0, 1, one, NULL, one, one, MPI_ORDER_C, MPI_INT, &made));
  ARG(MPI_Type_create_darray(1, 0, 1, one, kinds, one, NULL, MPI_ORDER_C, MPI_INT, &made));
  ARG(MPI_Type_create_resized(MPI_INT, 0, 8, NULL));
  ARG(MPI_Type_dup(MPI_INT, NULL));
  ARG(MPI_Type_create_f90_integer(5, NULL));
  FINE(MPI_Type_indexed(0, NULL, NULL, MPI_INT, &made));
  FINE(MPI_Type_free(&made));
}

/* A part without elements, as programs that divide few rows among many processes make them. */
static void nothing_of_an_array(void) {
  const int sizes[2] = {1, 4}, parts[2] = {0, 4}, starts[2] = {0, 0};
  MPI_Datatype made;
  const int code = MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &made);
#if defined(OPEN_MPI) || defined(MPI_ABI_VERSION)
  ARG(code);
#else
  int bytes = -1;
  MPI_Aint lower = -1, extent = -1;
  FINE(code);
  FINE(MPI_Type_size(made, &bytes));
  FINE(MPI_Type_get_extent(made, &lower, &extent));
  expect(bytes == 0 && lower == 0 && extent == 16 ? MPI_SUCCESS : MPI_ERR_OTHER, MPI_SUCCESS,
         "the bounds of no rows");
  FINE(MPI_Type_free(&made));
#endif
}

static void topologies(MPI_Comm self) {
  const int one[1] = {1}, zero[1] = {0};
  int value, values[1];
  MPI_Comm made = MPI_COMM_NULL, grid;
  ARG(MPI_Cart_create(self, 1, NULL, zero, 0, &made));
  ARG(MPI_Cart_create(self, 1, one, NULL, 0, &made));
  ARG(MPI_Cart_map(self, 1, NULL, zero, &value));
  ARG(MPI_Dims_create(1, 1, NULL));
  ARG(MPI_Graph_create(self, 1, NULL, zero, 0, &made));
  ARG(MPI_Graph_create(self, 1, one, NULL, 0, &made));
  ARG(MPI_Graph_create(self, 1, one, zero, 0, NULL));
  ARG(MPI_Dist_graph_create_adjacent(self, 1, NULL, MPI_UNWEIGHTED, 1, zero, MPI_UNWEIGHTED,
                                     MPI_INFO_NULL, 0, &made));
  ARG(MPI_Dist_graph_create_adjacent(self, 1, zero, MPI_UNWEIGHTED, 1, NULL, MPI_UNWEIGHTED,
                                     MPI_INFO_NULL, 0, &made));
  ARG(MPI_Dist_graph_create_adjacent(self, 1, zero, one, 1, zero, NULL, MPI_INFO_NULL, 0, &made));
  ARG(MPI_Dist_graph_create(self, 1, NULL, one, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
  ARG(MPI_Dist_graph_create(self, 1, zero, NULL, zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
  ARG(MPI_Dist_graph_create(self, 1, zero, one, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
  FINE(MPI_Cart_create(self, 1, one, zero, 0, &grid));
  ARG(MPI_Cart_rank(grid, NULL, &value));
  ARG(MPI_Cart_coords(grid, 0, 1, NULL));
  ARG(MPI_Cart_get(grid, 1, values, NULL, values));
  ARG(MPI_Cart_shift(grid, 0, 1, NULL, &value));
  ARG(MPI_Cart_sub(grid, NULL, &made));
  ARG(MPI_Neighbor_allgatherv(one, 1, MPI_INT, values, NULL, zero, MPI_INT, grid));
  FINE(MPI_Comm_free(&grid));
  FINE(MPI_Dist_graph_create_adjacent(self, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                      MPI_INFO_NULL, 0, &made));
  FINE(MPI_Comm_free(&made));
}

static void infos(void) {
  char text[8];
  int flag, length;
  MPI_Info info;
  ARG(MPI_Info_create(NULL));
  MPI_Info_create(&info);
  expect(MPI_Info_set(info, NULL, "value"), MPI_ERR_INFO_KEY, "set no key");
  expect(MPI_Info_set(info, "key", NULL), MPI_ERR_INFO_VALUE, "set no value");
  expect(MPI_Info_get(info, NULL, 7, text, &flag), MPI_ERR_INFO_KEY, "get no key");
  expect(MPI_Info_get(info, "key", 7, NULL, &flag), MPI_ERR_INFO_VALUE, "get no value");
  expect(MPI_Info_get_valuelen(info, NULL, &length, &flag), MPI_ERR_INFO_KEY, "length of no key");
  expect(MPI_Info_delete(info, NULL), MPI_ERR_INFO_KEY, "delete no key");
  ARG(MPI_Info_get(info, "key", 7, text, NULL));
  ARG(MPI_Info_get_valuelen(info, "key", NULL, &flag));
  ARG(MPI_Info_dup(info, NULL));
  ARG(MPI_Info_get_nkeys(info, NULL));
  FINE(MPI_Info_get_nkeys(info, &length));
  expect(length == 0 ? MPI_SUCCESS : MPI_ERR_OTHER, MPI_SUCCESS, "nothing was set");
  FINE(MPI_Info_free(&info));
}

static void groups(void) {
  int zero = 0, value;
  MPI_Group world, made;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  ARG(MPI_Group_incl(world, 1, NULL, &made));
  ARG(MPI_Group_excl(world, 1, NULL, &made));
  ARG(MPI_Group_range_incl(world, 1, NULL, &made));
  ARG(MPI_Group_range_excl(world, 1, NULL, &made));
  ARG(MPI_Group_translate_ranks(world, 1, NULL, world, &value));
  ARG(MPI_Group_translate_ranks(world, 1, &zero, world, NULL));
  ARG(MPI_Group_compare(world, world, NULL));
  FINE(MPI_Group_incl(world, 0, NULL, &made));
  FINE(MPI_Group_excl(world, 0, NULL, &made));
  FINE(MPI_Group_free(&made));
  FINE(MPI_Group_free(&world));
}

static void windows(MPI_Comm self) {
  int value = 7, seen = 0;
  int memory[1] = {0};
  MPI_Win window;
  MPI_Request request;
  FINE(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, self, &window));
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  FINE(MPI_Win_lock_all(0, window));
  REQUEST(MPI_Rput(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window, NULL));
  REQUEST(MPI_Rput(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window, NULL));
  REQUEST(MPI_Rget(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, window, NULL));
  REQUEST(MPI_Raccumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window, NULL));
  REQUEST(MPI_Rget_accumulate(&value, 1, MPI_INT, &seen, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM,
                              window, NULL));
  FINE(MPI_Rget(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, window, &request));
  FINE(MPI_Wait(&request, MPI_STATUS_IGNORE));
  FINE(MPI_Win_unlock_all(window));
  expect(seen == 0 && memory[0] == 0 ? MPI_SUCCESS : MPI_ERR_OTHER, MPI_SUCCESS, "nothing was put");
  FINE(MPI_Win_free(&window));
}

int main(int argc, char** argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  completion();
  messages(MPI_COMM_WORLD);
  statuses();
  collectives(MPI_COMM_SELF);
  significant_at_the_root(MPI_COMM_WORLD);
  datatypes();
  nothing_of_an_array();
  topologies(MPI_COMM_SELF);
  infos();
  groups();
  windows(MPI_COMM_SELF);
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  return MPI_Finalize();
}
