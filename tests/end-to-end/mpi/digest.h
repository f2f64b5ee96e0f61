// SPDX-License-Identifier: Apache-2.0
/* Lines to compare between two MPIs: of each result, a number that depends on its bytes in every
   process. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef MPI_ABI_VERSION /* the standard's ABI has no functions that were removed */
#define MPI_Type_hvector MPI_Type_create_hvector
#define MPI_Address MPI_Get_address
#endif

static int rank, size;

static void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  setvbuf(stdout, NULL, _IOLBF, 0);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* Collective over all processes. */
static void say(const char* name, const void* data, size_t bytes) {
  unsigned long hash = 1469598103934665603ul + (unsigned long)rank, sum = 0;
  for (size_t i = 0; i < bytes; ++i)
    hash = (hash ^ ((const unsigned char*)data)[i]) * 1099511628211ul;
  // All have looked at their memory before any goes on, and may access it.
  MPI_Allreduce(&hash, &sum, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d %s %016lx\n", size, name, sum);
}

static void say_int(const char* name, int value) {
  say(name, &value, sizeof value);
}

/* Numbers of constants differ between ABIs; their order in this list does not. */
static int plain_class(int code) {
  static const int classes[] = {MPI_SUCCESS,         MPI_ERR_BUFFER,   MPI_ERR_COUNT,
                                MPI_ERR_TYPE,        MPI_ERR_TAG,      MPI_ERR_COMM,
                                MPI_ERR_RANK,        MPI_ERR_ROOT,     MPI_ERR_ARG,
                                MPI_ERR_OTHER,       MPI_ERR_TRUNCATE, MPI_ERR_NO_SUCH_FILE,
                                MPI_ERR_FILE_EXISTS, MPI_ERR_AMODE,    MPI_ERR_READ_ONLY};
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  for (unsigned i = 0; i < sizeof classes / sizeof *classes; ++i)
    if (classes[i] == error_class) return (int)i;
  return -1;
}

static void say_compared(const char* name, int* results, int count) {
  for (int i = 0; i < count; ++i) results[i] -= MPI_IDENT;
  say(name, results, count * sizeof *results);
}

static int* numbers(int count) {
  int* made = malloc((count > 0 ? count : 1) * sizeof *made);
  for (int i = 0; i < count; ++i) made[i] = rank * 10007 + i * 13 + 1;
  return made;
}

static int* blank(int count) {
  int* made = malloc((count > 0 ? count : 1) * sizeof *made);
  for (int i = 0; i < count; ++i) made[i] = -7;
  return made;
}
