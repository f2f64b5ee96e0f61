// SPDX-License-Identifier: Apache-2.0
// Files: all ways to read and write, views with gaps, the pointer that is shared, errors.
#include <unistd.h>

#include "digest.h"

enum { block = 16 };

static char path[256];

/* Where a test runs is the place of its file; the first process's number makes it one of its own.
 */
static void name_file(void) {
  if (rank == 0) snprintf(path, sizeof path, "/tmp/weft-mpi-files-%ld", (long)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
}

/* The file's content, as one process reads it from its disk. */
static void say_file(const char* name) {
  char content[65536];
  size_t n = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    FILE* file = fopen(path, "rb");
    if (file != NULL) {
      n = fread(content, 1, sizeof content, file);
      fclose(file);
    }
  }
  say(name, content, n);
}

static void say_status(const char* name, MPI_Status* status) {
  int count = -1;
  MPI_Get_count(status, MPI_INT, &count);
  say_int(name, count);
}

static MPI_File opened(int mode) {
  MPI_File file;
  say_int("open", MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file));
  return file;
}

static void offsets_and_own_pointers(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Status status;
  MPI_Request request;
  MPI_Offset at = (MPI_Offset)rank * block * sizeof(int), place[3];
  int* out = numbers(block);
  int* in = blank(block);
  MPI_File_set_size(file, 0);
  MPI_File_write_at(file, at, out, block, MPI_INT, &status);
  say_status("write_at", &status);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  at = (MPI_Offset)((rank + 1) % size) * block * sizeof(int);
  MPI_File_read_at_all(file, at, in, block, MPI_INT, &status);
  say("read_at_all", in, block * sizeof *in);
  MPI_File_seek(file, at, MPI_SEEK_SET);
  MPI_File_read(file, in, block / 2, MPI_INT, &status);
  MPI_File_iread(file, in + block / 2, block / 2, MPI_INT, &request);
  MPI_Wait(&request, &status);
  say_status("iread", &status);
  say("read", in, block * sizeof *in);
  MPI_File_get_position(file, &place[0]);
  MPI_File_get_size(file, &place[1]);
  MPI_File_seek(file, -4, MPI_SEEK_END);
  MPI_File_get_position(file, &place[2]);
  say("places", place, sizeof place);
  MPI_File_read(file, in, block, MPI_INT, &status);
  say_status("at the end", &status);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek(file, rank * 8, MPI_SEEK_SET);
  MPI_File_write_all_begin(file, out, 2, MPI_INT);
  MPI_File_write_all_end(file, out, &status);
  say_status("write_all_begin", &status);
  MPI_File_close(&file);
  say_int("null", file == MPI_FILE_NULL);
  say_file("content");
  free(out);
  free(in);
}

static void views(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype tile, element, back[2];
  MPI_Offset displacement, place;
  MPI_Status status;
  char representation[MPI_MAX_DATAREP_STRING];
  int* out = numbers(2 * block);
  int* in = blank(2 * block);
  MPI_File_set_size(file, 0);
  /* Each process sees two integers of 2 * size. */
  MPI_Type_vector(1, 2, 2, MPI_INT, &element);
  MPI_Type_create_resized(element, 0, 2 * size * sizeof(int), &tile);
  MPI_Type_commit(&tile);
  MPI_File_set_view(file, 12 + rank * 2 * sizeof(int), MPI_INT, tile, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, out, 2 * block, MPI_INT, &status);
  say_status("write_all in a view", &status);
  MPI_File_get_byte_offset(file, 5, &place);
  say("byte_offset", &place, sizeof place);
  MPI_File_get_view(file, &displacement, &back[0], &back[1], representation);
  int is_int = back[0] == MPI_INT, bytes = 0;
  MPI_Type_size(back[1], &bytes);
  say_int("element", is_int);
  say_int("tile", bytes);
  say("displacement", &displacement, sizeof displacement);
  MPI_Type_free(&back[1]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, 3, in, 9, MPI_INT, &status);
  say("read_at in a view", in, 9 * sizeof *in);
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_get_position(file, &place);
  say("position after a view", &place, sizeof place);
  MPI_File_close(&file);
  say_file("view's content");
  MPI_Type_free(&tile);
  MPI_Type_free(&element);
  free(out);
  free(in);
}

static void shared_pointers(void) {
  MPI_File file = opened(MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Status status;
  MPI_Offset place;
  int* out = numbers(block);
  int* in = blank(block);
  int sum = 0, all = 0;
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_write_ordered(file, out, 1 + rank, MPI_INT, &status);
  say_status("write_ordered", &status);
  MPI_File_get_position_shared(file, &place);
  say("position_shared", &place, sizeof place);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_read_ordered(file, in, 1 + rank, MPI_INT, &status);
  say("read_ordered", in, (1 + rank) * sizeof *in);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  /* Each gets something else: only the sum is known. */
  MPI_File_read_shared(file, in, 1, MPI_INT, &status);
  sum = in[0];
  MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  say_int("read_shared", all);
  MPI_File_close(&file);
  say_file("ordered content");
  free(out);
  free(in);
}

static void say_class(const char* name, int code) {
  say_int(name, plain_class(code));
}

static void errors(void) {
  MPI_File file;
  int value = 7, mode = 0;
  say_class("no such file", MPI_File_open(MPI_COMM_WORLD, "/tmp/weft-mpi/none", MPI_MODE_RDONLY,
                                          MPI_INFO_NULL, &file));
  say_class("no access mode",
            MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  say_class("file exists",
            MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                          MPI_INFO_NULL, &file));
  file = opened(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
  MPI_File_get_amode(file, &mode);
  say_int("amode", mode == (MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE));
  say_class("read only", MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  MPI_File_close(&file);
  say_file("deleted");
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  name_file();
  offsets_and_own_pointers();
  views();
  shared_pointers();
  errors();
  MPI_Finalize();
  return 0;
}
