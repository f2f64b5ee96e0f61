// SPDX-License-Identifier: Apache-2.0
// Views, hints and collective accesses drawn from seeds: each byte of a tile belongs to one process
// or to none. What is read, and the file in the end, is what a model of it in memory has.
//   views SEEDS [FIRST]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most_tile = 2000, most_tiles = 20, gap = 255 };

static int rank, size, wrong, at_seed;
static unsigned state;
static char path[256];

/* All processes draw the same. */
static int draw(int below) {
  return rand_r(&state) % below;
}

static void expect(int good, const char* what) {
  if (!good) printf("seed %d, rank %d: not so: %s\n", at_seed, rank, what);
  wrong += !good;
}

static unsigned char tile[most_tile]; /* the owner of each byte */
static int tile_bytes, tiles;
static MPI_Offset displacement;
static unsigned char* model;
static MPI_Offset model_end;

static int bytes_of(int owner) {
  int count = 0;
  for (int i = 0; i < tile_bytes; ++i) count += tile[i] == owner;
  return count;
}

static void draw_tile(void) {
  tile_bytes = 16 + draw(most_tile - 16);
  for (int i = 0; i < tile_bytes;) {
    const int owner = draw(size + 1);
    for (int left = 1 + draw(draw(3) ? 8 : 300); left > 0 && i < tile_bytes; --left) {
      tile[i++] = owner < size ? owner : gap;
    }
  }
  tiles = 1 + draw(most_tiles);
  displacement = draw(100);
}

static MPI_Datatype own_layout(void) {
  static int lengths[most_tile], places[most_tile];
  int pieces = 0;
  MPI_Datatype all, made;
  for (int i = 0; i < tile_bytes; ++i) {
    if (tile[i] != rank) continue;
    if (i == 0 || tile[i - 1] != rank) {
      places[pieces] = i;
      lengths[pieces++] = 0;
    }
    ++lengths[pieces - 1];
  }
  if (pieces == 0) { /* it sees everything, and accesses nothing */
    places[0] = 0;
    lengths[pieces++] = tile_bytes;
  }
  MPI_Type_indexed(pieces, lengths, places, MPI_BYTE, &all);
  MPI_Type_create_resized(all, 0, tile_bytes, &made);
  MPI_Type_commit(&made);
  MPI_Type_free(&all);
  return made;
}

static MPI_Info draw_hints(void) {
  static const char* ways[] = {"automatic", "enable", "disable"};
  char number[20];
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", ways[draw(3)]);
  MPI_Info_set(info, "romio_cb_read", ways[draw(3)]);
  snprintf(number, sizeof number, "%d", 1 + draw(size + 1));
  MPI_Info_set(info, "cb_nodes", number);
  snprintf(number, sizeof number, "%d", 512 + draw(5000));
  MPI_Info_set(info, "cb_buffer_size", number);
  return info;
}

static unsigned char content(int owner, long byte, int round) {
  return (unsigned char)(byte * 3 + owner + round);
}

/* The place of a byte of a process's stream. */
static MPI_Offset place_of(int owner, long byte) {
  const int of_tile = bytes_of(owner);
  long rest = byte % of_tile;
  int i = 0;
  for (;; ++i) {
    if (tile[i] == owner && rest-- == 0) break;
  }
  return displacement + byte / of_tile * tile_bytes + i;
}

static void write_round(MPI_File file, int round) {
  long own_begin = 0, own_count = 0;
  for (int owner = 0; owner < size; ++owner) {
    const long all = (long)bytes_of(owner) * tiles;
    const int first = draw(1 << 30), second = draw(1 << 30), nothing = draw(5) == 0;
    const long begin = all > 0 ? first % all : 0;
    const long count = all > 0 && !nothing ? second % (all + 1 - begin) : 0;
    for (long i = begin; i < begin + count; ++i) {
      const MPI_Offset place = place_of(owner, i);
      model[place] = content(owner, i, round);
      if (place >= model_end) model_end = place + 1;
    }
    if (owner != rank) continue;
    own_begin = begin;
    own_count = count;
  }
  /* From memory with gaps. */
  unsigned char* memory = calloc((size_t)own_count * 2 + 1, 1);
  for (long i = 0; i < own_count; ++i) memory[2 * i] = content(rank, own_begin + i, round);
  MPI_Datatype spread;
  MPI_Status status;
  int got = -1;
  MPI_Type_vector((int)own_count, 1, 2, MPI_BYTE, &spread);
  MPI_Type_commit(&spread);
  MPI_File_seek(file, own_begin, MPI_SEEK_SET);
  MPI_File_write_all(file, memory, 1, spread, &status);
  MPI_Get_count(&status, MPI_BYTE, &got);
  expect(got == own_count, "all is written");
  MPI_Type_free(&spread);
  free(memory);
}

/* Of the own stream, perhaps beyond the file's end. */
static void read_round(MPI_File file) {
  const long of_tile = bytes_of(rank);
  const int first = draw(1 << 30), second = draw(1 << 30);
  const long begin = of_tile > 0 ? first % (of_tile * tiles) : 0;
  const long count = of_tile > 0 ? second % (of_tile * (tiles + 2)) : 0;
  unsigned char* memory = malloc((size_t)count + 1);
  MPI_Status status;
  int got = -1;
  MPI_File_read_at_all(file, begin, memory, (int)count, MPI_BYTE, &status);
  MPI_Get_count(&status, MPI_BYTE, &got);
  long there = 0, same = 0;
  while (there < count && place_of(rank, begin + there) < model_end) ++there;
  while (same < there && memory[same] == model[place_of(rank, begin + same)]) ++same;
  expect(got == there && same == there, "what is read is in the model");
  free(memory);
}

static void look_at_file(void) {
  unsigned char* all = malloc((size_t)model_end + 1);
  FILE* file = fopen(path, "rb");
  const size_t bytes = fread(all, 1, (size_t)model_end + 1, file);
  fclose(file);
  expect((MPI_Offset)bytes == model_end && memcmp(all, model, bytes) == 0, "the file is the model");
  free(all);
}

static void go(int seed) {
  MPI_File file;
  at_seed = seed;
  state = (unsigned)seed * 7919 + 3;
  draw_tile();
  model = calloc((size_t)displacement + (size_t)tile_bytes * (size_t)tiles, 1);
  model_end = 0;
  MPI_Datatype layout = own_layout();
  MPI_Info info = draw_hints();
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  MPI_File_set_size(file, 0);
  MPI_File_set_view(file, displacement, MPI_BYTE, layout, "native", MPI_INFO_NULL);
  for (int round = 0; round < 3; ++round) {
    write_round(file, round);
    MPI_Barrier(MPI_COMM_WORLD);
    read_round(file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_File_close(&file);
  if (rank == 0) look_at_file();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Info_free(&info);
  MPI_Type_free(&layout);
  free(model);
}

int main(int argc, char** argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) snprintf(path, sizeof path, "/tmp/weft-mpi-views-%ld", (long)getpid());
  MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
  const int first = argc > 2 ? atoi(argv[2]) : 1;
  for (int i = 0; i < atoi(argv[1]); ++i) go(first + i);
  if (rank == 0) unlink(path);
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  MPI_Finalize();
  return 0;
}
