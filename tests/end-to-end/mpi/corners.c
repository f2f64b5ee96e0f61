// SPDX-License-Identifier: Apache-2.0
/* What few programs do, and outside suites of tests look at. */
#include "digest.h"

static int deleted;
static int forget(MPI_Comm comm, int key, void* value, void* extra) {
  ++deleted;
  return MPI_SUCCESS;
}
static int refuse(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  return MPI_ERR_OTHER;
}

/* A key that was freed works as long as a communicator has a value under it. */
static void freed_keys(void) {
  int key, kept, flag = 0;
  void* value = NULL;
  MPI_Comm comm, copy;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, forget, &key, NULL);
  kept = key;
  MPI_Comm_set_attr(comm, key, &deleted);
  MPI_Comm_free_keyval(&key);
  say_int("freed", key == MPI_KEYVAL_INVALID);
  MPI_Comm_get_attr(comm, kept, &value, &flag);
  say_int("still there", flag && value == &deleted);
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_delete_attr(comm, kept);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&comm);
  say_int("deleted", deleted);
}

static void copies_that_fail(void) {
  int key;
  MPI_Comm comm, copy = MPI_COMM_WORLD;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(comm, key, NULL);
  const int error = MPI_Comm_dup(comm, &copy);
  say_int("no copy", error != MPI_SUCCESS && copy == MPI_COMM_NULL);
  MPI_Comm_free(&comm);
  MPI_Comm_free_keyval(&key);
}

/* Processes that made other numbers of communicators of MPI_COMM_SELF. */
static void communicators_of_one(void) {
  MPI_Comm own[40], part;
  const int mine = 3 + 7 * rank % 37;
  for (int i = 0; i < mine; ++i) MPI_Comm_dup(MPI_COMM_SELF, &own[i]);
  for (int i = 0; i < 40; ++i) {
    int sum = -1;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &part);
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, part);
    if (sum != i) say_int("wrong", i);
    MPI_Comm_free(&part);
  }
  for (int i = 0; i < mine; ++i) MPI_Comm_free(&own[i]);
  say_int("of one", 1);
}

static void roots_of_no_group(void) {
  if (size < 2) return;
  MPI_Comm half, inter;
  const int middle = (size + 1) / 2, is_first = rank < middle;
  MPI_Comm_split(MPI_COMM_WORLD, is_first, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_first ? middle : 0, 3, &inter);
  int value = 0, sum = 0, all[8] = {0}, own = rank, numbers[8];
  for (int i = 0; i < 8; ++i) numbers[i] = i + 1;
  const int root = !is_first ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
  MPI_Request requests[4];
  if (rank == 0) value = 77;
  MPI_Ibcast(&value, 1, MPI_INT, root, inter, &requests[0]);
  MPI_Ireduce(&own, &sum, 1, MPI_INT, MPI_SUM, root, inter, &requests[1]);
  MPI_Igather(&own, 1, MPI_INT, all, 1, MPI_INT, root, inter, &requests[2]);
  MPI_Iscatter(numbers, 1, MPI_INT, &own, 1, MPI_INT, root, inter, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  const int results[3] = {value, sum, is_first ? 0 : own};
  say("of the other group", results, sizeof results);
  say("gathered", all, sizeof all);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

/* A pair and a struct of the same numbers match each other. */
static void pairs_and_structs(void) {
  struct Two {
    double value;
    int place;
  } in[2] = {{1.5, 2}, {2.5, 3}}, out[2];
  const int lengths[] = {1, 1, 1, 1};
  const MPI_Aint places[] = {0, sizeof(double), sizeof(struct Two),
                             sizeof(struct Two) + sizeof(double)};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_INT, MPI_DOUBLE, MPI_INT};
  MPI_Datatype both;
  MPI_Status status;
  int elements, count;
  memset(out, 0, sizeof out);
  MPI_Type_create_struct(4, lengths, places, types, &both);
  MPI_Type_commit(&both);
  MPI_Sendrecv(in, 1, both, 0, 0, out, 2, MPI_DOUBLE_INT, 0, 0, MPI_COMM_SELF, &status);
  MPI_Get_elements(&status, MPI_DOUBLE_INT, &elements);
  MPI_Get_count(&status, MPI_DOUBLE_INT, &count);
  const double got[] = {out[0].value, out[0].place, out[1].value, out[1].place, elements, count};
  say("pairs", got, sizeof got);
  MPI_Type_free(&both);
}

static void large_types(void) {
  MPI_Datatype large, more;
  MPI_Count bytes, lower, extent;
  MPI_Status status;
  MPI_Type_contiguous(2000000000, MPI_INT, &large);
  MPI_Type_contiguous(1000, large, &more);
  MPI_Type_commit(&large);
  MPI_Type_size_x(more, &bytes);
  MPI_Type_get_extent_x(more, &lower, &extent);
  MPI_Status_set_elements_x(&status, MPI_INT, 3000000000);
  MPI_Count elements;
  MPI_Get_elements_x(&status, large, &elements);
  const MPI_Count got[] = {bytes, lower, extent, elements};
  say("large", got, sizeof got);
  MPI_Type_free(&more);
  MPI_Type_free(&large);
}

static void version(void) {
  int major = 0, minor = 0;
  MPI_Get_version(&major, &minor);
  say_int("version", major == MPI_VERSION && minor == MPI_SUBVERSION);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  freed_keys();
  copies_that_fail();
  communicators_of_one();
  roots_of_no_group();
  pairs_and_structs();
  large_types();
  version();
  MPI_Finalize();
  return 0;
}
