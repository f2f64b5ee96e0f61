// SPDX-License-Identifier: Apache-2.0
// Rounds of collective accesses to two files: pieces of all processes that aggregators gather, and
// lines at the shared pointer. Prints what is in the files in the end. Processes may be killed.
//   ledger PREFIX ROUNDS     PREFIX: of the files
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { items = 64, line = 16 };

static int rank, size, wrong;

static MPI_File opened(const char* prefix, const char* name) {
  char path[256];
  MPI_File file;
  MPI_Info info;
  snprintf(path, sizeof path, "%s.%s", prefix, name);
  MPI_Info_create(&info);
  MPI_Info_set(info, "collective_buffering", "true");
  MPI_Info_set(info, "cb_buffer_size", "1024");
  MPI_Info_set(info, "cb_nodes", "2");
  if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) !=
      MPI_SUCCESS) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_File_set_size(file, 0);
  MPI_Info_free(&info);
  return file;
}

static unsigned sum_of(const char* bytes, int count) {
  unsigned sum = 2166136261u;
  for (int i = 0; i < count; ++i) sum = (sum ^ (unsigned char)bytes[i]) * 16777619u;
  return sum;
}

/* A round's part of the file has an item of each process in turn. */
static unsigned gather_round(MPI_File file, int round, unsigned state) {
  unsigned own[items], other[items], all = 0;
  const MPI_Offset begin = (MPI_Offset)round * items;
  for (int i = 0; i < items; ++i) own[i] = state * 31u + (unsigned)(rank * items + i);
  MPI_File_write_at_all(file, begin, own, items, MPI_UNSIGNED, MPI_STATUS_IGNORE);
  MPI_File_read_at_all(file, begin, other, items, MPI_UNSIGNED, MPI_STATUS_IGNORE);
  wrong += memcmp(own, other, sizeof own) != 0;
  const unsigned sum = sum_of((const char*)other, sizeof other);
  MPI_Allreduce(&sum, &all, 1, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

static void write_line(MPI_File file, int round, unsigned state) {
  char text[line + 1];
  snprintf(text, sizeof text, "%4d %1d %8x\n", round % 10000, rank, state);
  if (round % 2 == 0) {
    MPI_File_write_ordered(file, text, line, MPI_CHAR, MPI_STATUS_IGNORE);
  } else {
    MPI_File_write_shared(file, text, line, MPI_CHAR, MPI_STATUS_IGNORE);
  }
}

/* Lines of odd rounds may stand in any order: their sum does not depend on it. */
static void say(MPI_File file, const char* name, int bytes_wanted) {
  MPI_Offset bytes = 0;
  MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL);
  MPI_File_get_size(file, &bytes);
  char* all = calloc((size_t)bytes + 1, 1);
  MPI_File_read_at_all(file, 0, all, (int)bytes, MPI_CHAR, MPI_STATUS_IGNORE);
  unsigned sum = 0;
  for (int i = 0; i + line <= bytes; i += line) sum += sum_of(all + i, line);
  if (rank == 0) printf("%s %s %08x\n", name, bytes == bytes_wanted ? "whole" : "broken", sum);
  free(all);
}

int main(int argc, char** argv) {
  MPI_Datatype tile;
  unsigned state = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = atoi(argv[2]);
  MPI_File gathered = opened(argv[1], "gathered"), lines = opened(argv[1], "lines");
  MPI_Type_create_resized(MPI_UNSIGNED, 0, size * (MPI_Aint)sizeof(unsigned), &tile);
  MPI_Type_commit(&tile);
  MPI_File_set_view(gathered, rank * (MPI_Offset)sizeof(unsigned), MPI_UNSIGNED, tile, "native",
                    MPI_INFO_NULL);
  for (int round = 0; round < rounds; ++round) {
    state = gather_round(gathered, round, state);
    write_line(lines, round, state);
  }
  say(gathered, "gathered", rounds * size * items * (int)sizeof(unsigned));
  say(lines, "lines", rounds * size * line);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("ledger of %d rounds, %d wrong\n", rounds, wrong);
  MPI_File_close(&gathered);
  MPI_File_close(&lines);
  MPI_Type_free(&tile);
  MPI_Finalize();
  return 0;
}
