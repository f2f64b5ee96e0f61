// SPDX-License-Identifier: Apache-2.0
/* File pointers and sizes: where seeks from the end of a file lead, what is reserved, and that
   collective calls change nothing before all processes have made them.
     pointers FILE */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int failures = 0, rank, size;

static void expect(MPI_Offset got, MPI_Offset wanted, const char* what) {
  if (got == wanted) return;
  ++failures;
  printf("rank %d: %s: %lld, not %lld\n", rank, what, (long long)got, (long long)wanted);
}

static MPI_File opened(const char* path, int mode) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file);
  return file;
}

/* Of integers that lie so in a file of 48 bytes. Frees the tile. */
static void ends_at(MPI_File file, MPI_Offset displacement, MPI_Datatype tile, MPI_Offset wanted,
                    const char* what) {
  MPI_Offset place = -1;
  MPI_Type_commit(&tile);
  MPI_File_set_view(file, displacement, MPI_INT, tile, "native", MPI_INFO_NULL);
  MPI_File_seek(file, 0, MPI_SEEK_END);
  MPI_File_get_position(file, &place);
  expect(place, wanted, what);
  MPI_File_seek_shared(file, 1, MPI_SEEK_END);
  MPI_File_get_position_shared(file, &place);
  expect(place, wanted + 1, what);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&tile);
}

static void ends_of_views(const char* path) {
  const int length = 4, displacement = 4, place = 2;
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype tile, inner;
  MPI_File_set_size(file, 48);
  MPI_Type_indexed(1, &length, &displacement, MPI_INT, &tile);
  ends_at(file, 0, tile, 8, "behind a lower bound");
  MPI_Type_indexed(1, &length, &displacement, MPI_INT, &tile);
  ends_at(file, 4, tile, 7, "within a tile behind a lower bound");
  MPI_Type_indexed(1, &length, &displacement, MPI_INT, &tile);
  ends_at(file, 40, tile, 0, "in the gap before the first tile");
  MPI_Type_create_indexed_block(1, 1, &place, MPI_INT, &inner);
  MPI_Type_create_resized(inner, -8, 16, &tile);
  MPI_Type_free(&inner);
  ends_at(file, 0, tile, 3, "with a negative lower bound");
  MPI_Type_vector(2, 1, 3, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, 8, &tile);
  MPI_Type_free(&inner);
  ends_at(file, 0, tile, 11, "of tiles that reach into the next ones");
  MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
  MPI_Type_create_resized(inner, 0, 24, &tile);
  MPI_Type_free(&inner);
  ends_at(file, 0, tile, 4, "of tiles with gaps");
  MPI_Type_contiguous(1, MPI_INT, &tile);
  ends_at(file, 2, tile, 12, "within an integer");
  MPI_Type_contiguous(1, MPI_INT, &tile);
  ends_at(file, 100, tile, 0, "before the displacement");
  MPI_File_close(&file);
}

/* The file is empty. */
static int can_reserve(const char* path) {
  const int descriptor = open(path, O_WRONLY);
  const int can = fallocate(descriptor, 0, 0, 4096) == 0;
  if (ftruncate(descriptor, 0) != 0) perror(path);
  close(descriptor);
  return can;
}

static int is_reserved(const char* path, MPI_Offset bytes) {
  struct stat about;
  return stat(path, &about) == 0 && (MPI_Offset)about.st_blocks * 512 >= bytes;
}

static void reserve(const char* path) {
  enum { large = 1 << 20 };
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Offset now = -1;
  int error_class = 0, value = 7;
  MPI_File_set_size(file, 0);
  int can = rank == 0 && can_reserve(path);
  MPI_Bcast(&can, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_File_preallocate(file, 0);
  MPI_File_get_size(file, &now);
  expect(now, 0, "nothing reserved");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_preallocate(file, large);
  MPI_File_get_size(file, &now);
  expect(now, large, "the size of a reserved file");
  if (can) expect(is_reserved(path, large), 1, "a reserved file has its memory");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_set_size(file, 0);
  MPI_File_set_size(file, 2 * large);
  if (rank == 0) MPI_File_write_at(file, 100, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_preallocate(file, large);
  MPI_File_get_size(file, &now);
  expect(now, 2 * large, "the size of a file that was longer");
  if (can) expect(is_reserved(path, large), 1, "a part of a longer file has its memory");
  MPI_File_read_at(file, 100, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  expect(value, 7, "what is in a file that is reserved");
  MPI_Error_class(MPI_File_preallocate(file, -1), &error_class);
  expect(error_class == MPI_ERR_ARG, 1, "a negative size is refused");
  MPI_File_close(&file);
}

/* The first process reserves a file that the last one writes to, each with a handle of its own. */
static void reserve_what_grows(const char* path) {
  enum { rounds = 5000, step = 100 };
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Offset now = 0, end = 0;
  int lost = 0, value = 7;
  MPI_File_set_size(file, 0);
  MPI_File_close(&file);
  if (rank == 0 || rank == size - 1) {
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < rounds; ++i) {
      if (rank == 0) {
        MPI_File_get_size(file, &now);
        MPI_File_preallocate(file, now + 1);
      }
      if (rank == size - 1) {
        MPI_File_get_size(file, &now);
        end = now + step;
        MPI_File_write_at(file, end - 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
        MPI_File_get_size(file, &now);
        lost += now < end;
      }
    }
    MPI_File_close(&file);
  }
  expect(lost, 0, "writes cut off by a call that reserves");
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The last process goes on with its own accesses after all others have made a collective call. */
static void be_late(void) {
  if (rank == size - 1) usleep(200000);
}

static void set_size_late(const char* path) {
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Offset now = -1;
  int value = 7;
  be_late();
  if (rank == size - 1) MPI_File_write_at(file, 1000, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_set_size(file, 10);
  MPI_File_get_size(file, &now);
  expect(now, 10, "the size after a write before the call that sets it");
  MPI_File_close(&file);
}

static void seek_late(const char* path) {
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Offset place = -1;
  int value = 7;
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  be_late();
  if (rank == size - 1) MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_seek_shared(file, 5, MPI_SEEK_SET);
  MPI_File_get_position_shared(file, &place);
  expect(place, 5, "the shared pointer after a write before the seek");
  MPI_File_close(&file);
}

static void set_current_view_late(const char* path) {
  MPI_File file = opened(path, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  MPI_Datatype element, tile;
  MPI_Offset displacement = -1;
  char name[MPI_MAX_DATAREP_STRING];
  const int values[2] = {7, 8};
  for (int i = 1; i <= 2; ++i) {
    be_late();
    if (rank == size - 1) MPI_File_write_shared(file, values, i, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_get_view(file, &displacement, &element, &tile, name);
    expect(displacement, i == 1 ? 4 : 12, "the shared pointer is the view's displacement");
  }
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  ends_of_views(argv[1]);
  reserve(argv[1]);
  reserve_what_grows(argv[1]);
  set_size_late(argv[1]);
  seek_late(argv[1]);
  set_current_view_late(argv[1]);
  if (rank == 0) MPI_File_delete(argv[1], MPI_INFO_NULL);
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  return MPI_Finalize();
}
