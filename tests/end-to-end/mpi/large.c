// SPDX-License-Identifier: Apache-2.0
// The chapters' functions whose counts have 64 bits, as far as they tell something of their own:
// how a datatype was made, and operations of the program's.
#include "digest.h"

/* What made a datatype, and whether the functions without _c refuse to tell. */
static void tell(const char* name, MPI_Datatype type) {
  MPI_Count n[4], counts[64] = {0};
  int combiner, integers[64] = {0}, small[4];
  MPI_Aint addresses[64] = {0};
  MPI_Datatype types[8];
  MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner);
  MPI_Type_get_contents_c(type, n[0], n[1], n[2], n[3], integers, addresses, counts, types);
  for (MPI_Count i = 0; i < n[0]; ++i) {
    if (integers[i] == MPI_ORDER_C) integers[i] = -1;
    if (integers[i] == MPI_DISTRIBUTE_CYCLIC) integers[i] = -2;
    if (integers[i] == MPI_DISTRIBUTE_BLOCK) integers[i] = -3;
  }
  const int are_all = types[0] == MPI_DOUBLE && types[n[3] - 1] == MPI_DOUBLE;
  say(name, n, sizeof n);
  say(name, integers, sizeof integers);
  say(name, addresses, sizeof addresses);
  say(name, counts, sizeof counts);
  say_int(name, are_all);
  if (n[2] == 0) return;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  say_int(name, MPI_Type_get_envelope(type, &small[0], &small[1], &small[2], &combiner) == 0);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void constructors(void) {
  const MPI_Count many = ((MPI_Count)1 << 31) + 5, lengths[] = {1, 2}, places[] = {0, 48};
  const MPI_Count sizes[] = {8, 6}, parts[] = {3, 2}, starts[] = {1, 4};
  const int kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, arguments[] = {2, 3};
  const int grid[] = {2, 2}, small_lengths[] = {1, 2};
  const MPI_Aint small_places[] = {0, 48};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_DOUBLE};
  MPI_Datatype made[13];
  int n = 0;
  MPI_Type_contiguous_c(many, MPI_DOUBLE, &made[n++]);
  MPI_Type_vector_c(2, 3, many, MPI_DOUBLE, &made[n++]);
  MPI_Type_create_hvector_c(2, 3, many, MPI_DOUBLE, &made[n++]);
  MPI_Type_indexed_c(2, lengths, places, MPI_DOUBLE, &made[n++]);
  MPI_Type_create_hindexed_c(2, lengths, places, MPI_DOUBLE, &made[n++]);
  MPI_Type_create_indexed_block_c(2, 1, places, MPI_DOUBLE, &made[n++]);
  MPI_Type_create_hindexed_block_c(2, 1, places, MPI_DOUBLE, &made[n++]);
  MPI_Type_create_struct_c(2, lengths, places, types, &made[n++]);
  MPI_Type_create_resized_c(MPI_DOUBLE, 0, many, &made[n++]);
  MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &made[n++]);
  MPI_Type_create_darray_c(4, 1, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_DOUBLE,
                           &made[n++]);
  MPI_Type_create_struct(2, small_lengths, small_places, types, &made[n++]);
  MPI_Type_vector(2, 3, 5, MPI_DOUBLE, &made[n++]);
  static const char* const names[] = {
      "contiguous_c",    "vector_c",         "hvector_c", "indexed_c", "hindexed_c",
      "indexed_block_c", "hindexed_block_c", "struct_c",  "resized_c", "subarray_c",
      "darray_c",        "struct",           "vector"};
  for (int i = 0; i < n; ++i) {
    tell(names[i], made[i]);
    MPI_Type_free(&made[i]);
  }
}

/* Of lines x -> a x + b: the left one after the right one. */
static void compose(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) {
  const double* left = in;
  double* right = inout;
  for (MPI_Count i = 0; i < *count; ++i, left += 2, right += 2) {
    right[1] = left[0] * right[1] + left[1];
    right[0] *= left[0];
  }
}

static void operations(void) {
  double values[4] = {1 + rank, 2, 3 * rank, 4}, result[4] = {0};
  MPI_Datatype pair;
  MPI_Op op;
  MPI_Op_create_c(compose, 0, &op);
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  MPI_Allreduce(values, result, 2, pair, op, MPI_COMM_WORLD);
  say("reduced", result, sizeof result);
  MPI_Scan_c(values, result, 2, pair, op, MPI_COMM_WORLD);
  say("scanned", result, sizeof result);
  MPI_Reduce_local_c(values, result, 2, pair, op);
  say("reduced locally", result, sizeof result);
  MPI_Op_free(&op);
  MPI_Type_free(&pair);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  constructors();
  operations();
  return MPI_Finalize();
}
