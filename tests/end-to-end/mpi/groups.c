// SPDX-License-Identifier: Apache-2.0
// Groups, communicators of them, attributes, info objects and error handlers.
#include "digest.h"

static void say_group(const char* name, MPI_Group group) {
  int n, own, all[64], in_world[64], i;
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(group, &n);
  MPI_Group_rank(group, &own);
  for (i = 0; i < n; ++i) all[i] = i;
  MPI_Group_translate_ranks(group, n, all, world, in_world);
  in_world[n++] = own;
  say(name, in_world, n * sizeof *in_world);
  MPI_Group_free(&world);
}

static void groups(void) {
  MPI_Group world, odd, rest, both, some;
  int odds[32], n = 0, result[3];
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = size - 1; i > 0; i -= 2) odds[n++] = i;
  MPI_Group_incl(world, n, odds, &odd);
  MPI_Group_excl(world, n, odds, &rest);
  say_group("incl", odd);
  say_group("excl", rest);
  MPI_Group_union(odd, rest, &both);
  say_group("union", both);
  MPI_Group_intersection(both, odd, &some);
  say_group("intersection", some);
  MPI_Group_compare(world, both, &result[0]);
  MPI_Group_compare(odd, some, &result[1]);
  MPI_Group_compare(odd, rest, &result[2]);
  say_compared("compare", result, 3);
  MPI_Group_free(&some);
  MPI_Group_difference(world, rest, &some);
  say_group("difference", some);
  MPI_Group_free(&some);
  int ranges[1][3] = {{size - 1, 0, -2}};
  MPI_Group_range_incl(world, 1, ranges, &some);
  say_group("range_incl", some);
  MPI_Group_free(&some);
  MPI_Group_range_excl(world, 1, ranges, &some);
  say_group("range_excl", some);
  say_int("empty", some == MPI_GROUP_EMPTY);

  MPI_Comm made, own;
  int sum = -1, same = -1;
  MPI_Comm_create(MPI_COMM_WORLD, odd, &made);
  if (made != MPI_COMM_NULL) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made);
    MPI_Comm_create_group(made, odd, 7, &own);
    MPI_Comm_compare(made, own, &same), same -= MPI_IDENT;
    MPI_Bcast(&sum, 1, MPI_INT, 0, own);
    MPI_Comm_free(&own);
    MPI_Comm_free(&made);
  }
  sum += same;
  say_int("create", sum);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank, MPI_INFO_NULL, &made);
  MPI_Comm_rank(made, &n);
  say_int("split_type", n);
  MPI_Comm_free(&made);
  MPI_Request request;
  MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_compare(made, MPI_COMM_WORLD, &same);
  MPI_Comm_test_inter(made, &n);
  say_int("idup", (same - MPI_IDENT) * 10 + n);
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &n);
  say("name", name, n + 1);
  MPI_Comm_set_name(made, "a copy");
  MPI_Comm_get_name(made, name, &n);
  say("new name", name, n + 1);
  MPI_Comm_free(&made);
  MPI_Group_free(&world), MPI_Group_free(&odd), MPI_Group_free(&rest), MPI_Group_free(&both);
}

static int copies, deletes;
static int copy(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  ++copies;
  *(long*)out = (long)in + *(int*)extra;
  *flag = (long)in != 99;
  return MPI_SUCCESS;
}
static int drop(MPI_Comm comm, int key, void* value, void* extra) {
  deletes = deletes * 7 + (int)(long)value;
  return MPI_SUCCESS;
}

static void attributes(void) {
  int first, second, third, extra = 5, flag[3];
  long* value = NULL;
  int* bound = NULL;
  MPI_Comm made;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &flag[0]);
  say_int("tag_ub", flag[0] && *bound >= 32767);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &bound, &flag[0]);
  say_int("wtime", flag[0] && *bound == 0);
  MPI_Comm_create_keyval(copy, drop, &first, &extra);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &second, NULL);
  MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &third, NULL);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_attr(dup, first, (void*)10L);
  MPI_Comm_set_attr(dup, second, (void*)20L);
  MPI_Attr_put(dup, third, (void*)30L);
  MPI_Comm_set_attr(dup, first, (void*)11L);
  MPI_Comm_dup(dup, &made);
  long seen[3] = {0};
  MPI_Comm_get_attr(made, first, &seen[0], &flag[0]);
  MPI_Comm_get_attr(made, second, &seen[1], &flag[1]);
  MPI_Attr_get(made, third, &value, &flag[2]);
  say("copied", seen, sizeof seen);
  say("flags", flag, sizeof flag);
  MPI_Comm_delete_attr(dup, first);
  MPI_Comm_free_keyval(&first);
  MPI_Comm_free(&made);
  MPI_Comm_free(&dup);
  say_int("copies", copies);
  say_int("deletes", deletes);
  say_int("freed", first == MPI_KEYVAL_INVALID);
}

static void info(void) {
  MPI_Info one, two;
  char text[64] = "";
  int n, flag;
  MPI_Info_create(&one);
  MPI_Info_set(one, "color", "red");
  MPI_Info_set(one, "size", "12");
  MPI_Info_set(one, "color", "green");
  MPI_Info_dup(one, &two);
  MPI_Info_delete(one, "color");
  MPI_Info_get_nkeys(one, &n);
  say_int("keys", n);
  MPI_Info_get(two, "color", 63, text, &flag);
  say("value", text, strlen(text));
  MPI_Info_get_valuelen(two, "color", &n, &flag);
  say_int("length", n);
  MPI_Info_get(one, "color", 63, text, &flag);
  say_int("deleted", flag);
  MPI_Info_get_nthkey(two, 1, text);
  say("key", text, strlen(text));
  MPI_Info_free(&one);
  MPI_Info_free(&two);
  say_int("no info", one == MPI_INFO_NULL);
}

static int handled, last_class;
static void handle(MPI_Comm* comm, int* error, ...) {
  ++handled;
  last_class = plain_class(*error);
}

static void errors(void) {
  MPI_Errhandler handler, found;
  int code, error_class, n, out[4];
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  code = MPI_Send(&n, 1, MPI_INT, size + 3, 0, dup);
  out[0] = plain_class(code);
  code = MPI_Send(&n, -1, MPI_INT, 0, 0, dup);
  out[1] = plain_class(code);
  code = MPI_Bcast(&n, 1, MPI_INT, size, dup);
  out[2] = plain_class(code);
  code = MPI_Send(&n, 1, MPI_INT, 0, -5, dup);
  out[3] = plain_class(code);
  say("returned", out, sizeof out);
  MPI_Comm_create_errhandler(handle, &handler);
  MPI_Comm_set_errhandler(dup, handler);
  MPI_Errhandler_free(&handler);
  MPI_Send(&n, 1, MPI_INT, -9, 0, dup);
  say_int("class", last_class);
  MPI_Comm_get_errhandler(dup, &found);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(dup, found);
  MPI_Errhandler_free(&found);
  MPI_Comm_call_errhandler(dup, MPI_ERR_OTHER);
  say_int("handled", handled);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
  say_int("fatal", found == MPI_ERRORS_ARE_FATAL);
  MPI_Add_error_class(&error_class);
  MPI_Add_error_code(error_class, &code);
  MPI_Add_error_string(code, "out of coffee");
  MPI_Error_string(code, text, &n);
  say("text", text, n);
  MPI_Error_class(code, &n);
  say_int("added", n == error_class && error_class > MPI_ERR_LASTCODE);
  MPI_Comm_free(&dup);
}

static int clean_up(MPI_Comm comm, int key, void* value, void* extra) {
  int finalized = 1;
  MPI_Finalized(&finalized);
  if (rank == 0) printf("%d cleans up %s%d\n", size, (char*)value, finalized);
  return MPI_SUCCESS;
}

/* Libraries clean up when MPI ends, the last one first. */
static void libraries(void) {
  int first, second;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, clean_up, &first, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, clean_up, &second, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, first, "first");
  MPI_Comm_set_attr(MPI_COMM_SELF, second, "second");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  groups();
  attributes();
  info();
  errors();
  libraries();
  MPI_Finalize();
  return 0;
}
