// SPDX-License-Identifier: Apache-2.0
/* Lines to compare between two MPIs: of each result, a number that depends on its bytes in every
   process. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
