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
  // This root is no rank of the other group, and neither MPI_ROOT nor MPI_PROC_NULL.
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  const int nobody[] = {
      plain_class(MPI_Bcast(&value, 1, MPI_INT, size, inter)),
      plain_class(MPI_Reduce(&own, &sum, 1, MPI_INT, MPI_SUM, size, inter)),
      plain_class(MPI_Gather(&own, 1, MPI_INT, all, 1, MPI_INT, size, inter)),
      plain_class(MPI_Scatter(numbers, 1, MPI_INT, &own, 1, MPI_INT, size, inter)),
      plain_class(MPI_Bcast(&value, 1, MPI_INT, -1000, inter))};
  say("no root", nobody, sizeof nobody);
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

/* MPI-1's programs set the bounds of a struct so. */
#ifdef MPI_UB
static void bounds_as_types(void) {
  const int lengths[] = {1, 2, 1};
  const MPI_Aint places[] = {-4, 0, 20};
  const MPI_Datatype types[] = {MPI_LB, MPI_INT, MPI_UB};
  MPI_Datatype type;
  MPI_Aint lower, extent;
  int in[12], out[12] = {0}, bytes;
  for (int i = 0; i < 12; ++i) in[i] = i + 1;
  MPI_Type_create_struct(3, lengths, places, types, &type);
  MPI_Type_commit(&type);
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &bytes);
  MPI_Sendrecv(in, 2, type, 0, 0, out, 2, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  const int bounds[] = {(int)lower, (int)extent, bytes};
  say("bounds", bounds, sizeof bounds);
  say("within", out, sizeof out);
  MPI_Type_free(&type);
}
#else
static void bounds_as_types(void) {
  // The standard's ABI has none: those of the program for MPICH.
  const int bounds[] = {-4, 24, 8}, out[12] = {1, 2, 0, 0, 0, 0, 7, 8};
  say("bounds", bounds, sizeof bounds);
  say("within", out, sizeof out);
}
#endif

/* Errors of the program's, removed: MPI 4.1 names the functions otherwise than MPICH 4.0. */
static void removed_errors(void) {
  int error_class, code, again, of_code;
  MPI_Add_error_class(&error_class);
  MPI_Add_error_code(error_class, &code);
  MPI_Add_error_string(code, "gone soon");
#ifdef MPICH_VERSION
  MPIX_Delete_error_string(code);
  MPIX_Delete_error_code(code);
#elif !defined(OPEN_MPI)
  MPI_Remove_error_string(code);
  MPI_Remove_error_code(code);
#endif
  MPI_Add_error_code(error_class, &again);
  MPI_Error_class(again, &of_code);
  say_int("a code once more", of_code == error_class);
#ifndef OPEN_MPI
  say_int("in the place of the removed one", again == code);
#endif
}

static void dimensions_of_many(void) {
  int sizes[6] = {0};
  MPI_Dims_create(999936, 6, sizes);
  say("dimensions", sizes, sizeof sizes);
#ifndef OPEN_MPI
  /* As close to each other as 37 x 30 x 28 x 19; MPICH prefers a greater last one. */
  int four[4] = {0};
  MPI_Dims_create(590520, 4, four);
  say("as close", four, sizeof four);
#endif
}

/* A long has 4 bytes there. */
static void longs_in_external32(void) {
  long in[3] = {1, -2, 3}, out[3] = {0};
  unsigned char packed[24] = {0};
  MPI_Aint bytes, position = 0, from = 0;
  MPI_Pack_external_size("external32", 3, MPI_LONG, &bytes);
  MPI_Pack_external("external32", in, 3, MPI_LONG, packed, sizeof packed, &position);
  MPI_Unpack_external("external32", packed, position, &from, out, 3, MPI_LONG);
  say_int("longs", (int)bytes * 100 + (int)position);
  say("packed", packed, sizeof packed);
  say("unpacked", out, sizeof out);
}

static void windows_of_one(void) {
  MPI_Win window;
  MPI_Aint bytes;
  int unit, flag = 0;
  void *own, *value, *base = &unit;
  MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, MPI_COMM_SELF, &own, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, &base);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  const int error = MPI_Win_get_attr(window, MPI_KEYVAL_INVALID, &value, &flag);
  say_int("no memory", bytes == 0 && base == NULL);
  say_int("no key", error != MPI_SUCCESS);
  MPI_Win_free(&window);
}

static void fold_nothing(void* in, void* inout, int* count, MPI_Datatype* type) {}

/* Of elements without bytes there is nothing to fold. */
static void folds_of_nothing(void) {
  MPI_Datatype nothing;
  MPI_Op op;
  int in = 1, out = 2;
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  MPI_Type_commit(&nothing);
  MPI_Op_create(fold_nothing, 1, &op);
  MPI_Allreduce(&in, &out, 3, nothing, op, MPI_COMM_WORLD);
  MPI_Reduce(&in, &out, 3, nothing, op, 0, MPI_COMM_WORLD);
  say_int("nothing", out);
  MPI_Op_free(&op);
  MPI_Type_free(&nothing);
}

static void forgive(MPI_Comm* comm, int* code, ...) {
  *code = MPI_SUCCESS;
}

static void errors(void) {
  int number = 1, results[2];
  MPI_Comm comm;
  MPI_Errhandler handler;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_errhandler(forgive, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  results[0] = MPI_Send(&number, 1, MPI_INT, 1 << 24, 0, comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  results[1] = plain_class(MPI_Reduce_local(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_SUM));
  say("errors", results, sizeof results);
  MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, 0, 0, NULL, 0, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  MPI_Message none = MPI_MESSAGE_NULL;
  say_int("no message", MPI_Mrecv(&number, 1, MPI_INT, &none, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
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
  bounds_as_types();
  dimensions_of_many();
  removed_errors();
  longs_in_external32();
  windows_of_one();
  folds_of_nothing();
  errors();
  version();
  MPI_Finalize();
  return 0;
}
