// SPDX-License-Identifier: Apache-2.0
// Collective accesses to interleaved pieces of a file: few system calls, with any hints, and the
// same content. Prints how many expectations were not met.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { rounds = 512, item = 8 };

static int rank, size, failures;
static char path[256];
static MPI_T_pvar_session session;
static MPI_T_pvar_handle calls[2]; /* reads, writes */

static void expect(int good, const char* what, const char* how) {
  if (!good) printf("rank %d, %s: not so: %s\n", rank, how, what);
  failures += !good;
}

static void find_counters(void) {
  static const char* names[2] = {"weft_file_reads", "weft_file_writes"};
  int index = -1, count;
  MPI_T_pvar_session_create(&session);
  for (int i = 0; i < 2; ++i) {
    expect(MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS,
           names[i], "counters");
    MPI_T_pvar_handle_alloc(session, index, NULL, &calls[i], &count);
  }
}

/* System calls of all processes since the last time. */
static int count_calls(int which) {
  unsigned long long own = 0, all = 0;
  MPI_T_pvar_readreset(session, calls[which], &own);
  MPI_Allreduce(&own, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return (int)all;
}

static unsigned char byte_of(int owner, int index, int seed) {
  return (unsigned char)(owner * 31 + index * 7 + seed);
}

/* Round r of the file has an item of each process, and of `more` that nobody owns. */
static void look(MPI_File file, int more, int absent, int seed, const char* how) {
  const int width = (size + more) * item, bytes = rounds * width;
  unsigned char* all = malloc(bytes);
  int wrong = 0, got = -1;
  MPI_Status status;
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, all, bytes, MPI_BYTE, &status);
  MPI_Get_count(&status, MPI_BYTE, &got);
  for (int i = 0; i < got; ++i) {
    const int owner = i % width / item, index = i / width * item + i % item;
    const int is_hole = owner >= size || owner == absent;
    wrong += all[i] != (is_hole ? 0xee : byte_of(owner, index, seed));
  }
  expect(got == bytes && wrong == 0, "each byte is its owner's", how);
  MPI_Barrier(MPI_COMM_WORLD);
  free(all);
}

/* Writes and reads in a view with gaps, but not of the absent process. */
static void go(const char* how, MPI_Info info, int more, int absent, int most_calls) {
  const int width = (size + more) * item, count = rank == absent ? 0 : rounds * item;
  unsigned char own[rounds * item], back[rounds * item + 1];
  MPI_File file;
  MPI_Datatype block, tile;
  MPI_Status status;
  int got = -1;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  MPI_File_set_size(file, 0);
  if (rank == 0) {
    unsigned char* blank = malloc(rounds * width);
    memset(blank, 0xee, rounds * width);
    MPI_File_write_at(file, 0, blank, rounds * width, MPI_BYTE, MPI_STATUS_IGNORE);
    free(blank);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_contiguous(item, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, width, &tile);
  MPI_Type_commit(&tile);
  MPI_File_set_view(file, (MPI_Offset)rank * item, MPI_BYTE, tile, "native", MPI_INFO_NULL);
  for (int seed = 0; seed < 2; ++seed) {
    for (int i = 0; i < count; ++i) own[i] = byte_of(rank, i, seed);
    (void)count_calls(1);
    if (seed == 0) {
      MPI_File_write_all(file, own, count, MPI_BYTE, &status);
    } else {
      MPI_File_write_at_all_begin(file, 0, own, count, MPI_BYTE);
      MPI_File_write_at_all_end(file, own, &status);
    }
    const int writes = count_calls(1);
    expect(writes <= most_calls, "few system calls write", how);
    if (writes > most_calls) printf("%d writes\n", writes);
    MPI_Get_count(&status, MPI_BYTE, &got);
    expect(got == count, "all is written", how);
    (void)count_calls(0);
    MPI_File_read_at_all(file, 0, back, count, MPI_BYTE, &status);
    const int reads = count_calls(0);
    expect(reads <= most_calls, "few system calls read", how);
    MPI_Get_count(&status, MPI_BYTE, &got);
    expect(got == count && memcmp(own, back, count) == 0, "what was written is read", how);
  }
  /* One process asks for what is behind the end. */
  MPI_File_read_at_all(file, 8, back, rank == absent ? 0 : rounds * item, MPI_BYTE, &status);
  MPI_Get_count(&status, MPI_BYTE, &got);
  expect(got == (rank == absent ? 0 : rounds * item - 8), "reading ends at the end", how);
  look(file, more, absent, 1, how);
  MPI_File_close(&file);
  MPI_Type_free(&block);
  MPI_Type_free(&tile);
}

static MPI_Info hints(const char* first, const char* value, const char* second,
                      const char* second_value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, first, value);
  if (second != NULL) MPI_Info_set(info, second, second_value);
  return info;
}

/* A process with an error does not keep the others. */
static void fail_alone(void) {
  MPI_File file;
  int value = rank, error_class = -1;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  int error = MPI_File_write_at_all(file, rank * (MPI_Offset)sizeof value, &value,
                                    rank == size - 1 ? -1 : 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Error_class(error, &error_class);
  expect(error_class == (rank == size - 1 ? MPI_ERR_COUNT : MPI_SUCCESS), "one has an error",
         "errors");
  error = MPI_File_write_ordered(file, &value, rank == 0 ? -1 : 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_Error_class(error, &error_class);
  expect(error_class == (rank == 0 ? MPI_ERR_COUNT : MPI_SUCCESS), "another one has", "errors");
  MPI_File_close(&file);
}

static void show_hints(MPI_Info given) {
  MPI_File file;
  MPI_Info info;
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int flag = 0;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, given, &file);
  MPI_File_get_info(file, &info);
  MPI_Info_get(info, "cb_buffer_size", MPI_MAX_INFO_VAL, value, &flag);
  expect(flag && strcmp(value, "4096") == 0, "the size of buffers is shown", "hints");
  MPI_Info_get(info, "romio_cb_write", MPI_MAX_INFO_VAL, value, &flag);
  expect(flag && strcmp(value, "automatic") == 0, "what was not given is shown", "hints");
  MPI_Info_free(&info);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  int provided, all;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) snprintf(path, sizeof path, "/tmp/weft-mpi-gathered-%ld", (long)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  find_counters();
  const int pieces = rounds * size;
  const int stripes = (pieces * item + 4095) / 4096;
  MPI_Info two = hints("cb_nodes", "2", "cb_buffer_size", "4096");
  MPI_Info never = hints("romio_cb_write", "disable", "romio_cb_read", "disable");
  MPI_Info always = hints("collective_buffering", "true", "cb_nodes", "3");
  if (size > 1) {
    go("no hints", MPI_INFO_NULL, 0, -1, 1);
    go("two aggregators", two, 0, -1, stripes);
    go("always", always, 0, -1, 1);
    go("gaps", two, 1, -1, rounds + 2 * stripes);
    go("nothing of one", always, 0, 1, 2 * rounds);
  }
  go("disabled", never, 0, -1, pieces);
  show_hints(two);
  fail_alone();
  if (rank == 0) unlink(path);
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  MPI_Finalize();
  return 0;
}
