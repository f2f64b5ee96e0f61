// SPDX-License-Identifier: Apache-2.0
// external32: packed numbers, byte for byte, and a view of a file whose numbers are in it.
//   external FILE
#include <float.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

static int failures = 0, rank, size;

static void expect(int is, const char* what) {
  if (is) return;
  ++failures;
  printf("rank %d: %s\n", rank, what);
}

/* Packs and unpacks elements; `wanted` are their bytes in external32. */
static void packed(const char* what, const void* elements, int count, MPI_Datatype type,
                   const char* wanted, MPI_Aint bytes) {
  char external[256] = {0}, again[256] = {0}, memory[256] = {0};
  MPI_Aint room = 0, end = 3, from = 3;
  MPI_Pack_external_size("external32", count, type, &room);
  MPI_Pack_external("external32", elements, count, type, external, sizeof external, &end);
  expect(room == bytes && end == 3 + bytes && memcmp(external + 3, wanted, bytes) == 0, what);
  MPI_Unpack_external("external32", external, end, &from, memory, count, type);
  MPI_Count last = 3;
  MPI_Pack_external_c("external32", memory, count, type, again, sizeof again, &last);
  expect(from == end && last == end && memcmp(external, again, sizeof again) == 0, what);
}

static void numbers(void) {
  const short shorts[] = {1, -2};
  const long longs[] = {1, -2};
  const long long long_longs[] = {1, -2};
  const double doubles[] = {1, -2.5};
  const long double long_doubles[] = {1, -2.5L, 0, 0.1L};
  const struct {
    double value;
    int place;
  } placed[] = {{1, 5}, {2, 6}};
  const struct {
    long value;
    int place;
  } long_placed = {-1, 5};
  const struct {
    short value;
    int place;
  } short_placed = {1, 5};
  packed("short", shorts, 2, MPI_SHORT, "\0\1\xff\xfe", 4);
  packed("long", longs, 2, MPI_LONG, "\0\0\0\1\xff\xff\xff\xfe", 8);
  packed("long long", long_longs, 2, MPI_LONG_LONG,
         "\0\0\0\0\0\0\0\1\xff\xff\xff\xff\xff\xff\xff\xfe", 16);
  packed("double", doubles, 2, MPI_DOUBLE, "\x3f\xf0\0\0\0\0\0\0\xc0\4\0\0\0\0\0\0", 16);
  packed("complex", doubles, 1, MPI_C_DOUBLE_COMPLEX, "\x3f\xf0\0\0\0\0\0\0\xc0\4\0\0\0\0\0\0", 16);
  packed("long double", long_doubles, 3, MPI_LONG_DOUBLE,
         "\x3f\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xc0\0\x40\0\0\0\0\0\0\0\0\0\0\0\0\0"
         "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
         48);
  packed("wide characters", L"ab", 2, MPI_WCHAR, "\0a\0b", 4);
  packed("double and int", placed, 2, MPI_DOUBLE_INT,
         "\x3f\xf0\0\0\0\0\0\0\0\0\0\5\x40\0\0\0\0\0\0\0\0\0\0\6", 24);
  packed("long and int", &long_placed, 1, MPI_LONG_INT, "\xff\xff\xff\xff\0\0\0\5", 8);
  packed("short and int", &short_placed, 1, MPI_SHORT_INT, "\0\1\0\0\0\5", 6);
  long double back[4];
  char external[64];
  MPI_Aint end = 0, from = 0;
  MPI_Pack_external("external32", long_doubles, 4, MPI_LONG_DOUBLE, external, 64, &end);
  MPI_Unpack_external("external32", external, 64, &from, back, 4, MPI_LONG_DOUBLE);
  expect(back[1] == long_doubles[1] && back[3] == long_doubles[3], "long doubles come back");
  // The number below 1 of 113 bits, and one that is none, in the lowest bit.
  static const char below[] =
      "\x3f\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
      "\x7f\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\1";
  from = 0;
  MPI_Unpack_external("external32", below, 32, &from, back, 2, MPI_LONG_DOUBLE);
  expect(back[0] > 1 - 1e-19L && back[1] != back[1], "numbers between long doubles");
  expect(sizeof(long double) < 16 || LDBL_MANT_DIG != 64 || back[0] == 1, "rounded");
}

static void refused(const char* what, int code, int wanted) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  expect(error_class == wanted, what);
}

/* Places that are null, and more bytes than MPI's numbers count. */
static void wrong(void) {
  const MPI_Count many = (MPI_Count)1 << 61;
  const char* const form = "external32";
  double value = 1;
  char place[64];
  MPI_Count bytes = 0;
  MPI_Aint at = 0;
  MPI_Datatype inner, outer;
  MPI_Type_contiguous(1 << 30, MPI_DOUBLE, &inner);
  MPI_Type_contiguous(1 << 28, inner, &outer);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  refused("many packed", MPI_Pack_external_c(form, &value, many, MPI_DOUBLE, place, 64, &bytes),
          MPI_ERR_COUNT);
  refused("many unpacked", MPI_Unpack_external_c(form, place, 64, &bytes, &value, many, MPI_DOUBLE),
          MPI_ERR_COUNT);
  refused("size of many", MPI_Pack_external_size_c(form, 2 * many, MPI_DOUBLE, &bytes),
          MPI_ERR_COUNT);
  refused("size of large ones", MPI_Pack_external_size(form, 4, outer, &at), MPI_ERR_COUNT);
  refused("no position", MPI_Pack_external(form, &value, 1, MPI_INT, place, 64, NULL), MPI_ERR_ARG);
  refused("no form", MPI_Pack_external(NULL, &value, 1, MPI_INT, place, 64, &at), MPI_ERR_ARG);
  refused("no position to unpack", MPI_Unpack_external(form, place, 64, NULL, &value, 1, MPI_INT),
          MPI_ERR_ARG);
  refused("no form to unpack", MPI_Unpack_external(NULL, place, 64, &at, &value, 1, MPI_INT),
          MPI_ERR_ARG);
  refused("no place for a size", MPI_Pack_external_size(form, 1, MPI_INT, NULL), MPI_ERR_ARG);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Type_free(&inner);
  MPI_Type_free(&outer);
}

/* A struct of several kinds, whose parts the program has freed. */
static void structs(void) {
  struct record {
    char c;
    double d[2];
    short s[3];
    int i;
  } records[2] = {{'x', {1, 2}, {3, 4, 5}, 6}, {'y', {-1, -2}, {-3, -4, -5}, -6}};
  const int lengths[4] = {1, 1, 3, 1};
  const MPI_Aint places[4] = {0, 8, 24, 32};
  MPI_Datatype pair, gaps, record;
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  const MPI_Datatype types[4] = {MPI_CHAR, pair, MPI_SHORT, MPI_INT};
  MPI_Type_create_struct(4, lengths, places, types, &gaps);
  MPI_Type_create_resized(gaps, 0, sizeof records[0], &record);
  MPI_Type_commit(&record);
  MPI_Type_free(&pair);
  MPI_Type_free(&gaps);
  packed("struct", records, 2, record,
         "x\x3f\xf0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0\0\3\0\4\0\5\0\0\0\6"
         "y\xbf\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0\xff\xfd\xff\xfc\xff\xfb\xff\xff\xff\xfa",
         54);
  MPI_Type_free(&record);
}

/* Two doubles of each rank in turn. */
static void file(const char* path, int is_collective) {
  double mine[8], got[8] = {0};
  unsigned char bytes[8];
  char representation[MPI_MAX_DATAREP_STRING];
  MPI_File file;
  MPI_Datatype tile, spread, element;
  MPI_Offset displacement;
  MPI_Status status;
  int count;
  for (int i = 0; i < 8; ++i) mine[i] = 1 + 10 * rank + i;
  if (rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  MPI_Type_vector(2, 2, 2 * size, MPI_DOUBLE, &tile);
  MPI_Type_vector(2, 2, 4, MPI_DOUBLE, &spread);
  MPI_Type_commit(&tile);
  MPI_Type_commit(&spread);
  MPI_File_set_view(file, 16 * rank, MPI_DOUBLE, tile, "external32", MPI_INFO_NULL);
  MPI_File_get_view(file, &displacement, &element, &tile, representation);
  expect(strcmp(representation, "external32") == 0, "the view's representation");
  if (is_collective) {
    MPI_File_write_all(file, mine, 1, spread, &status);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    MPI_File_read_all(file, got, 1, spread, &status);
  } else {
    MPI_File_write_at(file, 0, mine, 1, spread, &status);
    MPI_File_read_at(file, 0, got, 1, spread, &status);
  }
  MPI_Get_elements(&status, MPI_DOUBLE, &count);
  expect(count == 4 && got[1] == mine[1] && got[2] == 0 && got[5] == mine[5], "read again");
  expect(mine[0] == 1 + 10 * rank, "what is written stays as it is");
  // The file ends behind the last rank's part.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, 3, got, 4, MPI_DOUBLE, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  expect(rank < size - 1 || (count == 1 && got[0] == mine[5] && got[1] == mine[1]), "the last one");
  // A long has fewer bytes there.
  MPI_Aint extent = 0, long_extent = 0;
  MPI_Count large_extent = 0;
  MPI_File_get_type_extent(file, MPI_DOUBLE, &extent);
  MPI_File_get_type_extent(file, MPI_LONG, &long_extent);
  MPI_File_get_type_extent_c(file, spread, &large_extent);
  expect(extent == 8 && long_extent == 4 && large_extent == 48, "extents in the file");
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE);
  expect(memcmp(bytes, "\x3f\xf0\0\0\0\0\0\0", 8) == 0, "the file's bytes");
  MPI_File_close(&file);
  MPI_Type_free(&tile);
  MPI_Type_free(&spread);
}

/* Tiles of numbers of that type, by all constructors that count elements. */
enum { kTiles = 9 };
static void tiles_of(MPI_Datatype number, int is_large, MPI_Datatype* made) {
  const int sizes[] = {6, 4}, parts[] = {2, 3}, starts[] = {1, 0}, lengths[] = {1, 2};
  const int places[] = {1, 4}, kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
  const MPI_Count large_sizes[] = {6, 4}, large_parts[] = {2, 3}, large_starts[] = {1, 0};
  const MPI_Count large_lengths[] = {1, 2}, large_places[] = {1, 4}, bytes[] = {0, 32};
  const MPI_Aint small_bytes[] = {0, 32};
  MPI_Datatype types[] = {number, MPI_SHORT}, pair;
  MPI_Type_contiguous(2, number, &pair);
  if (is_large) {
    MPI_Type_contiguous_c(3, pair, &made[0]);
    MPI_Type_vector_c(3, 1, 2, pair, &made[1]);
    MPI_Type_create_hvector_c(2, 1, 40, number, &made[2]);
    MPI_Type_indexed_c(2, large_lengths, large_places, number, &made[3]);
    MPI_Type_create_indexed_block_c(2, 2, large_places, number, &made[4]);
    MPI_Type_create_struct_c(2, large_lengths, bytes, types, &made[5]);
    MPI_Type_create_hindexed_c(2, large_lengths, bytes, number, &made[6]);
    MPI_Type_create_subarray_c(2, large_sizes, large_parts, large_starts, MPI_ORDER_C, number,
                               &made[7]);
    MPI_Type_create_darray_c(2, 1, 2, large_sizes, kinds, arguments, grid, MPI_ORDER_FORTRAN,
                             number, &made[8]);
  } else {
    MPI_Type_contiguous(3, pair, &made[0]);
    MPI_Type_vector(3, 1, 2, pair, &made[1]);
    MPI_Type_create_hvector(2, 1, 40, number, &made[2]);
    MPI_Type_indexed(2, lengths, places, number, &made[3]);
    MPI_Type_create_indexed_block(2, 2, places, number, &made[4]);
    MPI_Type_create_struct(2, lengths, small_bytes, types, &made[5]);
    MPI_Type_create_hindexed(2, lengths, small_bytes, number, &made[6]);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, number, &made[7]);
    MPI_Type_create_darray(2, 1, 2, sizes, kinds, arguments, grid, MPI_ORDER_FORTRAN, number,
                           &made[8]);
  }
  for (int i = 0; i < kTiles; ++i) MPI_Type_commit(&made[i]);
  MPI_Type_free(&pair);
}

/* In the file a tile of longs is that of numbers of 4 bytes, but for the places that are in bytes.
 */
static void tiles_of_longs(const char* path) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  for (int is_large = 0; is_large < 2; ++is_large) {
    MPI_Datatype longs[kTiles], ints[kTiles];
    tiles_of(MPI_LONG, is_large, longs);
    tiles_of(MPI_INT32_T, is_large, ints);
    for (int i = 0; i < kTiles; ++i) {
      const MPI_Datatype element = i == 5 ? MPI_SHORT : MPI_LONG;
      MPI_Offset places[20];
      if (MPI_File_set_view(file, 8, i == 5 ? MPI_SHORT : MPI_INT32_T, ints[i], "external32",
                            MPI_INFO_NULL) != MPI_SUCCESS) {
        expect(0, "a view of ints");
      }
      for (int k = 0; k < 20; ++k) MPI_File_get_byte_offset(file, k, &places[k]);
      if (MPI_File_set_view(file, 8, element, longs[i], "external32", MPI_INFO_NULL) !=
          MPI_SUCCESS) {
        expect(0, "a view of longs");
      }
      for (int k = 0; k < 20; ++k) {
        MPI_Offset place = -1;
        MPI_File_get_byte_offset(file, k, &place);
        expect(place == places[k], "the place of a long");
      }
      MPI_Type_free(&longs[i]);
      MPI_Type_free(&ints[i]);
    }
  }
  const long written[4] = {1, -2, 3 + rank, 4};
  long read[6] = {0};
  unsigned char bytes[16];
  int count = 0;
  MPI_Status status;
  MPI_File_set_view(file, 16 * rank, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL);
  MPI_File_set_size(file, 0);
  MPI_File_write_at_all(file, 0, written, 4, MPI_LONG, &status);
  MPI_Get_count(&status, MPI_LONG, &count);
  expect(count == 4, "longs that were written");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_seek(file, 2, MPI_SEEK_SET);
  MPI_File_read(file, read, 6, MPI_LONG, &status);
  MPI_Get_count(&status, MPI_LONG, &count);
  expect(count == (rank == size - 1 ? 2 : 6) && read[0] == 3 + rank && read[1] == 4,
         "longs that were read");
  expect(rank == size - 1 || (read[3] == -2 && read[4] == 4 + rank), "longs of the next one");
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE);
  expect(memcmp(bytes, "\0\0\0\1\xff\xff\xff\xfe", 8) == 0, "the bytes of longs");
  MPI_File_close(&file);
}

/* A representation of the program's own, in which a double is a float with the opposite sign. The
   functions get counts of doubles, whatever the datatype. */
static int conversions = 0;
static int extent_of(MPI_Datatype type, MPI_Aint* bytes, void* state) {
  int size_of = 0;
  MPI_Type_size(type, &size_of);
  *bytes = type == MPI_DOUBLE ? sizeof(float) : size_of;
  return state == &conversions ? MPI_SUCCESS : MPI_ERR_OTHER;
}
static int to_floats(void* memory, MPI_Datatype type, int count, void* file, MPI_Offset position,
                     void* state) {
  double doubles[64];
  float* const floats = file;
  int bytes = 0, size_of = 0;
  MPI_Type_size(type, &size_of);
  MPI_Pack(memory, count * 8 / size_of, type, doubles, sizeof doubles, &bytes, MPI_COMM_SELF);
  for (int i = 0; i < bytes / 8; ++i) floats[i] = (float)-doubles[i];
  ++*(int*)state;
  return position == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}
static int to_doubles(void* memory, MPI_Datatype type, MPI_Count count, void* file,
                      MPI_Offset position, void* state) {
  double doubles[64];
  const float* const floats = file;
  int size_of = 0, from = 0;
  MPI_Type_size(type, &size_of);
  const int bytes = (int)count * 8;
  for (int i = 0; i < bytes / 8; ++i) doubles[i] = -floats[i];
  MPI_Unpack(doubles, bytes, &from, memory, bytes / size_of, type, MPI_COMM_SELF);
  ++*(int*)state;
  return position == 0 ? MPI_SUCCESS : MPI_ERR_OTHER;
}
static int to_doubles_of_32_bits(void* memory, MPI_Datatype type, int count, void* file,
                                 MPI_Offset position, void* state) {
  return to_doubles(memory, type, count, file, position, state);
}
static int never(void* memory, MPI_Datatype type, MPI_Count count, void* file, MPI_Offset position,
                 void* state) {
  return MPI_ERR_OTHER;
}

static void register_all(void) {
  refused("a name", MPI_Register_datarep("", NULL, NULL, extent_of, NULL), MPI_ERR_ARG);
  refused("no name", MPI_Register_datarep(NULL, NULL, NULL, extent_of, NULL), MPI_ERR_ARG);
  refused("no extents", MPI_Register_datarep("none", NULL, NULL, NULL, NULL), MPI_ERR_ARG);
  MPI_Register_datarep("floats", to_doubles_of_32_bits, to_floats, extent_of, &conversions);
  MPI_Register_datarep_c("refusing", to_doubles, never, extent_of, &conversions);
  MPI_Register_datarep("unknown", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of, NULL);
  MPI_Register_datarep("plain", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_of,
                       &conversions);
  refused("twice", MPI_Register_datarep("floats", NULL, NULL, extent_of, NULL),
          MPI_ERR_DUP_DATAREP);
  refused("native", MPI_Register_datarep("native", NULL, NULL, extent_of, NULL),
          MPI_ERR_DUP_DATAREP);
}

static void own(const char* path) {
  MPI_File file;
  MPI_Datatype tile, spread, element;
  MPI_Offset displacement;
  MPI_Status status;
  double mine[8], got[8] = {0};
  float floats[2] = {0};
  int count = 0;
  char representation[MPI_MAX_DATAREP_STRING];
  for (int i = 0; i < 8; ++i) mine[i] = 1 + 10 * rank + i;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
  MPI_File_set_size(file, 0);
  MPI_Type_vector(2, 2, 2 * size, MPI_DOUBLE, &tile);
  MPI_Type_vector(2, 2, 4, MPI_DOUBLE, &spread);
  MPI_Type_commit(&tile);
  MPI_Type_commit(&spread);
  refused("another one", MPI_File_set_view(file, 0, MPI_DOUBLE, tile, "doubles", MPI_INFO_NULL),
          MPI_ERR_UNSUPPORTED_DATAREP);
  refused("unknown extents", MPI_File_set_view(file, 0, MPI_DOUBLE, tile, "unknown", MPI_INFO_NULL),
          MPI_ERR_CONVERSION);
  MPI_File_set_view(file, 8 * rank, MPI_DOUBLE, tile, "floats", MPI_INFO_NULL);
  MPI_File_get_view(file, &displacement, &element, &tile, representation);
  expect(strcmp(representation, "floats") == 0, "the representation of the program");
  MPI_File_write_all(file, mine, 1, spread, &status);
  MPI_Get_elements(&status, MPI_DOUBLE, &count);
  expect(count == 4 && conversions == 1, "converted to floats");
  MPI_File_read_at_all(file, 0, got, 1, spread, &status);
  MPI_Get_elements(&status, MPI_DOUBLE, &count);
  expect(count == 4 && conversions == 2, "converted to doubles");
  expect(got[1] == mine[1] && got[2] == 0 && got[5] == mine[5], "doubles that were floats");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, 3, got, 4, MPI_DOUBLE, &status);
  MPI_Get_count(&status, MPI_DOUBLE, &count);
  expect(rank < size - 1 || (count == 1 && got[0] == mine[5] && got[1] == mine[1]), "the last one");
  MPI_Aint extent = 0;
  MPI_File_get_type_extent(file, tile, &extent);
  expect(extent == 4 * (2 * size + 2), "the extent of a tile of floats");
  MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "floats", MPI_INFO_NULL);
  MPI_Datatype three;
  MPI_Type_contiguous(3, MPI_DOUBLE, &three);
  MPI_Type_commit(&three);
  MPI_File_seek(file, 4 * size - 4, MPI_SEEK_SET);
  MPI_File_read(file, got, 2, three, &status);
  MPI_Offset position = 0;
  MPI_File_get_position(file, &position);
  expect(position == 4 * size - 1, "an element that the file has in part is still to be read");
  MPI_Type_free(&three);
  MPI_File_set_view(file, 0, MPI_DOUBLE, MPI_DOUBLE, "refusing", MPI_INFO_NULL);
  refused("no conversion", MPI_File_write_at(file, 0, mine, 1, MPI_DOUBLE, &status),
          MPI_ERR_CONVERSION);
  const int code = MPI_File_write_at_all(file, 0, mine, rank == 0, MPI_DOUBLE, &status);
  expect((code != MPI_SUCCESS) == (rank == 0), "only one cannot convert");
  MPI_File_read_at(file, 0, got, 1, MPI_DOUBLE, &status);
  expect(got[0] == 1, "converted by a function with counts of 64 bits");
  MPI_File_set_view(file, 0, MPI_FLOAT, MPI_FLOAT, "plain", MPI_INFO_NULL);
  MPI_File_read_at(file, 0, floats, 2, MPI_FLOAT, &status);
  expect(floats[0] == -1 && floats[1] == -2, "no functions: the file is as memory");
  refused("shorter, without functions", MPI_File_read_at(file, 0, got, 1, MPI_DOUBLE, &status),
          MPI_ERR_CONVERSION);
  MPI_File_close(&file);
  MPI_Type_free(&spread);
}

int main(int argc, char** argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  numbers();
  wrong();
  structs();
  file(argv[1], 0);
  file(argv[1], 1);
  tiles_of_longs(argv[1]);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  register_all();
  own(argv[1]);
  if (rank == 0) MPI_File_delete(argv[1], MPI_INFO_NULL);
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  return MPI_Finalize();
}
