// SPDX-License-Identifier: Apache-2.0
// Constructors of datatypes, questions about them, pack and unpack.
#include <stddef.h>

#include "digest.h"

// Numbers of constants among a recipe's integers, which differ between ABIs.
static void make_plain(int combiner, int n, int* values) {
  const int is_darray = combiner == MPI_COMBINER_DARRAY;
  if (is_darray || combiner == MPI_COMBINER_SUBARRAY) values[n - 1] = values[n - 1] == MPI_ORDER_C;
  for (int i = 0; is_darray && i < values[2]; ++i) {
    int* const kind = &values[3 + values[2] + i];
    int* const argument = &values[3 + 2 * values[2] + i];
    *kind = *kind == MPI_DISTRIBUTE_BLOCK ? 1 : *kind == MPI_DISTRIBUTE_CYCLIC ? 2 : 3;
    if (*argument == MPI_DISTRIBUTE_DFLT_DARG) *argument = -1;
  }
}

// Bounds and sizes, what a recipe says, and the bytes that travel round a ring.
static void show(const char* name, MPI_Datatype type) {
  MPI_Aint bounds[4], addresses[16];
  int size_of, n[4], integers[64], in[512], out[512], count;
  MPI_Datatype types[16];
  MPI_Status status;
  MPI_Type_commit(&type);
  MPI_Type_get_extent(type, &bounds[0], &bounds[1]);
  MPI_Type_get_true_extent(type, &bounds[2], &bounds[3]);
  MPI_Type_size(type, &size_of);
  say(name, bounds, sizeof bounds);
  say_int("  size", size_of);
  MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &n[3]);
  say("  envelope", n, 3 * sizeof *n);
  MPI_Type_get_contents(type, n[0], n[1], n[2], integers, addresses, types);
  make_plain(n[3], n[0], integers);
  say("  integers", integers, n[0] * sizeof *integers);
  say("  addresses", addresses, n[1] * sizeof *addresses);
  for (int i = 0; i < 512; ++i) in[i] = rank * 1000 + i, out[i] = -1;
  MPI_Sendrecv(in, 2, type, (rank + 1) % size, 1, out, 512, MPI_INT, (rank + size - 1) % size, 1,
               MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  say_int("  count", count);
  say("  sent", out, sizeof out);
  for (int i = 0; i < 512; ++i) out[i] = -1;
  MPI_Sendrecv(in, size_of / 2, MPI_INT, (rank + 1) % size, 1, out, 2, type,
               (rank + size - 1) % size, 1, MPI_COMM_WORLD, &status);
  say("  received", out, sizeof out);
  int position = 0, packed[512] = {0};
  MPI_Pack(in, 2, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
  say("  packed", packed, sizeof packed);
  int end = position;
  position = 0;
  for (int i = 0; i < 512; ++i) out[i] = -1;
  MPI_Unpack(packed, end, &position, out, 2, type, MPI_COMM_WORLD);
  say("  unpacked", out, sizeof out);
  MPI_Type_free(&type);
}

/* Of what a compiler pads, and once more inside of another. */
static void padded_structs(void) {
  int lengths[2] = {1, 1};
  MPI_Aint bytes[2] = {0, 8};
  MPI_Datatype inner, type, members[2] = {MPI_DOUBLE, MPI_INT};
  MPI_Type_create_struct(2, lengths, bytes, members, &inner);
  members[0] = inner, members[1] = MPI_INT, bytes[1] = 16;
  MPI_Type_create_struct(2, lengths, bytes, members, &type), show("struct in a struct", type);
  show("padded struct", inner);
}

static void constructors(void) {
  int lengths[3] = {2, 1, 3}, places[3] = {4, 0, 9};
  MPI_Aint bytes[3] = {16, 4, 40};
  MPI_Datatype type, inner, mixed[3] = {MPI_INT, MPI_FLOAT, MPI_INT};
  MPI_Type_create_hvector(3, 2, 20, MPI_INT, &type), show("hvector", type);
  MPI_Type_hvector(2, 1, -12, MPI_INT, &type);
  MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){12}, type, &inner);
  MPI_Type_free(&type), show("hvector backwards", inner);
  MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type), show("hindexed", type);
  MPI_Type_create_indexed_block(3, 2, (int[]){0, 3, 8}, MPI_INT, &type),
      show("indexed_block", type);
  MPI_Type_create_hindexed_block(3, 1, bytes, MPI_INT, &type), show("hindexed_block", type);
  MPI_Type_create_struct(3, lengths, bytes, mixed, &type), show("struct", type);
  MPI_Type_indexed(3, lengths, places, MPI_INT, &type), show("indexed", type);
  MPI_Type_dup(MPI_INT, &type), show("dup", type);
  MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
  MPI_Type_contiguous(3, inner, &type), show("contiguous of vectors", type);
  MPI_Type_create_resized(inner, -4, 24, &type), show("resized", type);
  MPI_Type_free(&inner);
  int sizes[3] = {4, 5, 3}, parts[3] = {2, 3, 2}, starts[3] = {1, 2, 0};
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type),
      show("subarray C", type);
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
  show("subarray Fortran", type);
  int whole[2] = {7, 9}, grid[2] = {2, 3};
  for (int kind = 0; kind < 3; ++kind) {
    int kinds[2] = {kind == 0 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC,
                    kind == 2 ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK};
    int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, kind == 2 ? 2 : MPI_DISTRIBUTE_DFLT_DARG};
    for (int process = 0; process < 6; ++process) {
      MPI_Type_create_darray(6, process, 2, whole, kinds, arguments, grid,
                             process % 2 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, MPI_INT, &type);
      show("darray", type);
    }
  }
}

static void names_and_elements(void) {
  char name[MPI_MAX_OBJECT_NAME];
  int n, elements;
  MPI_Datatype type;
  MPI_Status status;
  MPI_Type_get_name(MPI_DOUBLE, name, &n);
  say("name", name, n);
  MPI_Type_contiguous(3, MPI_SHORT, &type);
  MPI_Type_set_name(type, "three");
  MPI_Type_get_name(type, name, &n);
  say("own name", name, n);
  MPI_Type_commit(&type);
  short data[12] = {1, 2, 3, 4, 5, 6, 7, 8}, got[12];
  MPI_Sendrecv(data, 8, MPI_SHORT, rank, 0, got, 3, type, rank, 0, MPI_COMM_WORLD, &status);
  MPI_Get_count(&status, type, &n);
  MPI_Get_elements(&status, type, &elements);
  say_int("elements", elements + (n == MPI_UNDEFINED ? 100 : 0));
  MPI_Type_free(&type);
  MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
  MPI_Type_size(type, &n);
  say_int("match_size", n);
  MPI_Aint a, b;
  MPI_Get_address(&data[0], &a);
  MPI_Address(&data[5], &b);
  say_int("address", (int)MPI_Aint_diff(b, a));
}

#define PAIR(T, KIND, ROUNDS)                                                                  \
  {                                                                                            \
    struct {                                                                                   \
      T value;                                                                                 \
      int place;                                                                               \
    } in[3], most[3], least[3];                                                                \
    memset(in, 0, sizeof in), memset(most, 0, sizeof most), memset(least, 0, sizeof least);    \
    for (int i = 0; i < 3; ++i) in[i].value = (T)((rank * 5 + i) % 3), in[i].place = rank + i; \
    MPI_Allreduce(in, most, 3, KIND, MPI_MAXLOC, MPI_COMM_WORLD);                              \
    MPI_Allreduce(in, least, 3, KIND, MPI_MINLOC, MPI_COMM_WORLD);                             \
    int places[6], bytes;                                                                      \
    for (int i = 0; i < 3; ++i) places[i] = most[i].place, places[i + 3] = least[i].place;     \
    say(#KIND, places, sizeof places);                                                         \
    MPI_Type_size(KIND, &bytes);                                                               \
    MPI_Aint lower, extent;                                                                    \
    MPI_Type_get_extent(KIND, &lower, &extent);                                                \
    say_int("  size", bytes * 100 + (int)extent);                                              \
  }

static void pairs(void) {
  PAIR(float, MPI_FLOAT_INT, 0)
  PAIR(double, MPI_DOUBLE_INT, 0)
  PAIR(long, MPI_LONG_INT, 0)
  PAIR(short, MPI_SHORT_INT, 0)
  PAIR(int, MPI_2INT, 0)
  PAIR(long double, MPI_LONG_DOUBLE_INT, 0)
  double two[2] = {rank + 0.5, rank};
  MPI_Allreduce(MPI_IN_PLACE, two, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD);
  say("2double", two, sizeof two);
  int sum = rank;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD);
  say_int("integer", sum);
}

static int copied;
static int copy(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  ++copied;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static void attributes(void) {
  int key, flag;
  long value = 0;
  MPI_Datatype type, dup;
  MPI_Type_create_keyval(copy, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, key, (void*)42L);
  MPI_Type_dup(type, &dup);
  MPI_Type_get_attr(dup, key, &value, &flag);
  say_int("attribute", (int)value * 10 + flag + copied);
  MPI_Type_free(&type);
  MPI_Type_free(&dup);
  MPI_Type_free_keyval(&key);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  constructors();
  padded_structs();
  names_and_elements();
  pairs();
  attributes();
  MPI_Finalize();
  return 0;
}
