// SPDX-License-Identifier: Apache-2.0
// A program that makes and frees objects again and again needs no more memory for it, datatypes
// live as long as something uses them, and those too large for the memory are refused. Arguments:
// rounds of datatypes.
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resident.h"

static int rank, size, failures;

static void expect(int good, const char* what) {
  if (good) return;
  printf("%d: not so: %s\n", rank, what);
  ++failures;
}

/* Derived from one that is freed before it, and used by a receive. */
static void make_and_use(int i) {
  MPI_Datatype inner, outer;
  MPI_Type_vector(2, 1, 3, MPI_INT, &inner);
  MPI_Type_contiguous(2, inner, &outer);
  MPI_Type_free(&inner);
  MPI_Type_commit(&outer);
  if (i % 64 == 0) {
    int in[12] = {0}, out[12];
    for (int k = 0; k < 12; ++k) out[k] = i + k;
    MPI_Request request;
    MPI_Irecv(in, 1, outer, rank, 1, MPI_COMM_WORLD, &request);
    MPI_Type_free(&outer);
    for (int k = 0; k < 200; ++k) {  // enough for freed ones to be given back
      MPI_Type_contiguous(k, MPI_DOUBLE, &inner);
      MPI_Type_free(&inner);
    }
    MPI_Send(out, 4, MPI_INT, rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(in[0] == i && in[3] == i + 1 && in[4] == i + 2 && in[7] == i + 3,
           "a receive under way keeps the datatype that was freed");
  } else {
    MPI_Type_free(&outer);
  }
}

/* A handle of the contents is the program's own. */
static void take_apart(void) {
  MPI_Datatype inner, outer, again;
  int n, bytes = 0;
  MPI_Aint address;
  MPI_Type_contiguous(5, MPI_SHORT, &inner);
  MPI_Type_contiguous(3, inner, &outer);
  MPI_Type_free(&inner);
  MPI_Type_get_contents(outer, 1, 0, 1, &n, &address, &again);
  MPI_Type_free(&outer);
  for (int k = 0; k < 300; ++k) {
    MPI_Type_contiguous(k, MPI_DOUBLE, &outer);
    MPI_Type_free(&outer);
  }
  MPI_Type_size(again, &bytes);
  expect(bytes == 10, "the contents of a freed datatype are there until they are freed");
  MPI_Type_free(&again);
}

static void refuse_uncommitted(void) {
  MPI_Datatype type;
  int error_class = 0;
  int data[2] = {0};
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  expect(error_class == MPI_ERR_TYPE, "a datatype that was not committed is refused");
  MPI_Type_commit(&type);
  expect(MPI_Bcast(data, 1, type, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "a committed one is not");
  MPI_Type_free(&type);
}

/* A datatype takes memory for each of its pieces. */
static void many_pieces(void) {
  MPI_Datatype inner, outer;
  MPI_Count bytes = 0;
  int error_class = MPI_SUCCESS;
  const long before = resident_kib();
  MPI_Type_vector(INT_MAX, 2, 2, MPI_INT, &outer);
  MPI_Type_size_x(outer, &bytes);
  expect(bytes == (MPI_Count)INT_MAX * 8, "the size of blocks one behind the other");
  expect(resident_kib() - before < 1 << 10, "blocks one behind the other are one piece");
  MPI_Type_free(&outer);
  MPI_Type_vector(1000, 1, 2, MPI_INT, &inner);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int code = MPI_Type_vector(INT_MAX, 1, 2, inner, &outer);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  expect(error_class == MPI_ERR_NO_MEM, "a vector of more pieces than there is memory is refused");
  error_class = MPI_SUCCESS;
  code = MPI_Type_contiguous(INT_MAX, inner, &outer);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  expect(error_class == MPI_ERR_NO_MEM, "as many pieces in a row are refused");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&inner);
}

/* Parts of arrays take memory for their runs, however many elements these have. */
static void parts_of_arrays(void) {
  const int sizes[2] = {4, 1 << 30}, parts[2] = {2, 1 << 29}, starts[2] = {1, 1 << 20};
  const int grid[2] = {1, 2}, arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 1 << 20};
  const int blocks[2] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
  const int cycles[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int defaults[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  MPI_Count bytes = 0;
  MPI_Datatype made[3], refused;
  const long before = resident_kib();
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &made[0]);
  MPI_Type_create_darray(2, 1, 2, sizes, blocks, defaults, grid, MPI_ORDER_C, MPI_DOUBLE, &made[1]);
  MPI_Type_create_darray(2, 1, 2, sizes, cycles, arguments, grid, MPI_ORDER_C, MPI_DOUBLE,
                         &made[2]);
  for (int i = 0; i < 3; ++i) {
    MPI_Type_size_x(made[i], &bytes);
    expect(bytes == (MPI_Count)(i == 0 ? 8 : 16) << 30, "the size of a part of an array");
    MPI_Type_free(&made[i]);
  }
  expect(resident_kib() - before < 4 << 10, "parts of arrays take memory for their runs");
  const int large[3] = {1 << 20, 1 << 20, 4}, most[3] = {1 << 20, 1 << 20, 2}, zero[3] = {0};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int error_class = MPI_SUCCESS;
  const int code =
      MPI_Type_create_subarray(3, large, most, zero, MPI_ORDER_C, MPI_DOUBLE, &refused);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
  expect(error_class == MPI_ERR_NO_MEM, "a part of more pieces than there is memory is refused");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 100000;
  take_apart();
  refuse_uncommitted();
  many_pieces();
  parts_of_arrays();
  for (int i = 0; i < rounds / 10; ++i) make_and_use(i);
  const long before = resident_kib();
  for (int i = 0; i < rounds; ++i) make_and_use(i);
  expect(resident_kib() - before < 8 << 10, "datatypes that were freed take no memory");
  int all = 0;
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  if (argc > 2) fprintf(stderr, "%d: %ld KiB more\n", rank, resident_kib() - before);
  MPI_Finalize();
  return 0;
}
