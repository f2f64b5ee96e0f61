// SPDX-License-Identifier: Apache-2.0
/* What MPICH or Open MPI does where the standard leaves it open, and what both refuse. Each ABI is
   held to what its own MPI does, and that of the standard to the standard. habits FILE     an
   absolute path */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failures = 0, rank, size;

static void expect(long got, long wanted, const char* what) {
  if (got == wanted) return;
  ++failures;
  printf("rank %d: %s: %ld, not %ld\n", rank, what, got, wanted);
}

static int class_of(int code) {
  int error_class = -1;
  MPI_Error_class(code, &error_class);
  return error_class;
}

static int four(MPI_Datatype type, MPI_Aint* extent, void* state) {
  *extent = 4;
  return MPI_SUCCESS;
}

/* Names of representations in capitals, as MPICH's and Open MPI's own files have them. */
static void representations(const char* path) {
  static const struct {
    const char* name;
    int error, first;
  } all[] = {{"NATIVE", MPI_SUCCESS, 1},
             {"EXTERNAL32", MPI_SUCCESS, 1 << 24},
#ifndef OPEN_MPI
             {"INTERNAL", MPI_SUCCESS, 1},
#endif
             {"Native", MPI_ERR_UNSUPPORTED_DATAREP, 1},
             {"External32", MPI_ERR_UNSUPPORTED_DATAREP, 1}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    const int one = 1;
    int found = 0;
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    expect(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, all[i].name, MPI_INFO_NULL)),
           all[i].error, all[i].name);
    MPI_File_write_at_all(file, 0, &one, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_read_at_all(file, 0, &found, 1, MPI_INT, MPI_STATUS_IGNORE);
    expect(found, all[i].first, "the first number in the file");
    MPI_File_close(&file);
    if (all[i].error != MPI_SUCCESS) continue;
    expect(class_of(MPI_Register_datarep(all[i].name, NULL, NULL, four, NULL)), MPI_ERR_DUP_DATAREP,
           "a name that is taken");
  }
  const int one = 1;
  unsigned char packed[4] = {0};
  MPI_Aint place = 0;
  MPI_Pack_external("EXTERNAL32", &one, 1, MPI_INT, packed, sizeof packed, &place);
  expect(packed[3], 1, "the last byte of a packed number");
}

/* Names of file systems before a path, which MPICH removes. */
static void file_systems(const char* path) {
  static const char* const systems[] = {
      "ufs:",    "UFS:",  "nfs:",   "xfs:",    "panfs:", "gpfs:",
      "lustre:", "daos:", "pvfs2:", "testfs:", "ime:",   "quobyte:"};
  char name[4096], own[4000];
  snprintf(own, sizeof own, "%s.%d", path, rank);
  for (unsigned i = 0; i < sizeof systems / sizeof *systems; ++i) {
    MPI_File file = MPI_FILE_NULL;
    snprintf(name, sizeof name, "%s%s", systems[i], own);
    const int code =
        MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
#ifdef MPICH_VERSION
    expect(code, MPI_SUCCESS, name);
    MPI_File_close(&file);
    expect(access(own, F_OK), 0, "a file whose name had that of a file system before it");
    expect(MPI_File_delete(name, MPI_INFO_NULL), MPI_SUCCESS, "deleting it by that name");
    expect(access(own, F_OK), -1, "a deleted file");
#else
    expect(class_of(code), MPI_ERR_NO_SUCH_FILE, name);
#endif
  }
}

#ifdef OPEN_MPI
/* Returns 0 without a communicator. */
static int processes_with(int part) {
  int processes = 0;
  MPI_Comm made;
  MPI_Comm_split_type(MPI_COMM_WORLD, part, 0, MPI_INFO_NULL, &made);
  if (made == MPI_COMM_NULL) return 0;
  MPI_Comm_size(made, &processes);
  MPI_Comm_free(&made);
  return processes;
}

static void parts_of_a_machine(void) {
  static const int whole[] = {OMPI_COMM_TYPE_NODE, OMPI_COMM_TYPE_BOARD, OMPI_COMM_TYPE_HOST,
                              OMPI_COMM_TYPE_CU, OMPI_COMM_TYPE_CLUSTER};
  for (unsigned i = 0; i < sizeof whole / sizeof *whole; ++i) {
    expect(processes_with(whole[i]), size, "processes of the host");
  }
  /* Each process on one processor, if there are several: the first ones share theirs with others.
   */
  cpu_set_t before, one;
  int processor = 0, place = 0;
  sched_getaffinity(0, sizeof before, &before);
  const int processors = CPU_COUNT(&before);
  for (int left = rank % processors;; ++processor) {
    if (CPU_ISSET(processor, &before) && left-- == 0) break;
  }
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  sched_setaffinity(0, sizeof one, &one);
  for (int i = rank % processors; i < size; i += processors) ++place;
  expect(processes_with(OMPI_COMM_TYPE_HWTHREAD), place, "processes on one processor");
  int least = place;
  for (int part = OMPI_COMM_TYPE_CORE; part <= OMPI_COMM_TYPE_NUMA; ++part) {
    const int found = processes_with(part);
    expect(found >= 1 && found <= size, 1, "processes that share a part");
    if (part == OMPI_COMM_TYPE_CORE || part == OMPI_COMM_TYPE_SOCKET) {
      expect(found >= least, 1, "a larger part has fewer processes");
      least = found;
    }
  }
  sched_setaffinity(0, sizeof before, &before);
  for (int part = OMPI_COMM_TYPE_HWTHREAD; part <= OMPI_COMM_TYPE_NUMA; ++part) {
    expect(processes_with(part) >= 1, 1, "processes that are not bound");
  }
}
#endif

static MPI_Aint extent_with_integer(MPI_Datatype first) {
  int bytes = 0;
  MPI_Aint lower, extent;
  MPI_Type_size(first, &bytes);
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, bytes};
  MPI_Datatype members[2] = {first, MPI_DATATYPE_NULL}, type;
  MPI_Type_create_f90_integer(9, &members[1]);
  MPI_Type_create_struct(2, lengths, places, members, &type);
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_free(&type);
  return extent;
}

/* Structs of Fortran's numbers are padded as those of C's. */
static void fortran_structs(void) {
  MPI_Datatype type;
  MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type);
  expect(extent_with_integer(type), 16, "a real of 8 bytes and an integer");
  MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &type);
  expect(extent_with_integer(type), 24, "a complex number of 16 bytes and an integer");
  MPI_Type_create_f90_integer(12, &type);
  expect(extent_with_integer(type), 16, "an integer of 8 bytes and another");
  MPI_Type_create_f90_integer(3, &type);
  expect(extent_with_integer(type), 8, "an integer of 2 bytes and another");
}

/* Open MPI reduces bytes as numbers without sign, and the standard has only operations on bits. */
static void bytes(void) {
  static const struct {
    MPI_Op operation;
    int result;
  } all[] = {{MPI_MAX, 200}, {MPI_MIN, 100}, {MPI_SUM, 44},  {MPI_PROD, 32}, {MPI_LAND, 1},
             {MPI_LOR, 1},   {MPI_LXOR, 0},  {MPI_BAND, 64}, {MPI_BOR, 236}, {MPI_BXOR, 172}};
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    const unsigned char in = 200;
    unsigned char inout = 100;
    const int is_on_bits = i >= 7;
    const int code = MPI_Reduce_local(&in, &inout, 1, MPI_BYTE, all[i].operation);
#ifdef OPEN_MPI
    const int is_defined = 1;
#else
    const int is_defined = is_on_bits;
#endif
    expect(class_of(code), is_defined ? MPI_SUCCESS : MPI_ERR_OP, "an operation on bytes");
    if (is_defined) expect(inout, all[i].result, "what it makes of bytes");
    if (!is_on_bits) {
      expect(class_of(MPI_Reduce_local(&in, &inout, 1, MPI_PACKED, all[i].operation)), MPI_ERR_OP,
             "an operation on packed data");
    }
  }
}

/* There is no memory, and nobody to exchange it with. */
static void exchange_with_nobody(void) {
  MPI_Status status;
  status.MPI_SOURCE = MPI_PROC_NULL;
  (void)MPI_Sendrecv_replace(NULL, 3, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                             &status);  // an error to MPICH and Open MPI
  expect(status.MPI_SOURCE, MPI_PROC_NULL, "the source of an exchange with nobody");
}

static void neighbors_of_others(void) {
  const int end = 0, edge = 0;
  int count = 7, neighbor = 7;
  MPI_Comm graph;
  MPI_Graph_create(MPI_COMM_SELF, 1, &end, &edge, 0, &graph);
  MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
  for (int other = -1; other <= 5; other += 2) {
    expect(class_of(MPI_Graph_neighbors_count(graph, other, &count)), MPI_ERR_RANK, "counting");
    expect(class_of(MPI_Graph_neighbors(graph, other, 1, &neighbor)), MPI_ERR_RANK, "listing");
  }
  expect(count == 7 && neighbor == 7, 1, "neither has a result");
  MPI_Comm_free(&graph);
}

static void ranges_of_ranks(void) {
#ifdef OPEN_MPI
  const int wrong = MPI_ERR_RANK;
#else
  const int wrong = MPI_ERR_ARG;
#endif
  static const struct {
    int range[3], processes; /* of three; -1: none, the range is wrong */
  } all[] = {{{1, 0, 1}, -1},  {{0, 1, -1}, -1}, {{0, 2, 0}, -1},          {{0, 3, 1}, -1},
             {{-1, 0, 1}, -1}, {{4, 3, 1}, -1},  {{0, 2000000000, 1}, -1}, {{0, 2, 1}, 3},
             {{2, 0, -1}, 3},  {{0, 2, 2}, 2},   {{0, 3, 2}, 2},           {{1, 1, -1}, 1},
             {{1, 1, 5}, 1}};
  int ranks[3] = {0, 0, 0}, count;
  MPI_Group world, three, made, others;
  if (size < 3) return;
  for (int i = 0; i < 3; ++i) ranks[i] = i;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 3, ranks, &three);
  for (unsigned i = 0; i < sizeof all / sizeof *all; ++i) {
    int range[1][3];
    memcpy(range, all[i].range, sizeof range);
    const int code = MPI_Group_range_incl(three, 1, range, &made);
    const int other_code = MPI_Group_range_excl(three, 1, range, &others);
    expect(class_of(code), all[i].processes < 0 ? wrong : MPI_SUCCESS, "a range");
    expect(class_of(other_code), all[i].processes < 0 ? wrong : MPI_SUCCESS, "all but a range");
    if (all[i].processes < 0) continue;
    MPI_Group_size(made, &count);
    expect(count, all[i].processes, "the processes of a range");
    MPI_Group_size(others, &count);
    expect(count, 3 - all[i].processes, "the others");
    MPI_Group_free(&made);
    MPI_Group_free(&others);
  }
  MPI_Group_free(&three);
  MPI_Group_free(&world);
}

/* Datatypes that are sent and not reduced. */
static void unusual_datatype(MPI_Datatype type, int wanted_bytes, int alignment) {
  unsigned char sent[64], got[64] = {0};
  int bytes = 0;
  MPI_Aint lower, extent;
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, wanted_bytes};
  const MPI_Datatype members[2] = {type, MPI_CHAR};
  MPI_Datatype with_character;
  MPI_Type_size(type, &bytes);
  MPI_Type_get_extent(type, &lower, &extent);
  expect(bytes, wanted_bytes, "bytes of a datatype");
  expect(extent, wanted_bytes, "the extent of a datatype");
  MPI_Type_create_struct(2, lengths, places, members, &with_character);
  MPI_Type_get_extent(with_character, &lower, &extent);
  expect(extent, wanted_bytes + alignment, "its extent with a character behind it");
  MPI_Type_free(&with_character);
  for (unsigned i = 0; i < sizeof sent; ++i) sent[i] = (unsigned char)(i + 1);
  MPI_Sendrecv(sent, 1, type, 0, 0, got, 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  expect(memcmp(sent, got, wanted_bytes), 0, "what was sent and what came");
  expect(got[wanted_bytes], 0, "what lies behind it");
  expect(class_of(MPI_Reduce_local(sent, got, 1, type, MPI_SUM)), MPI_ERR_OP, "its sum");
}

static void unusual_datatypes(void) {
#if defined(OPEN_MPI)
  unusual_datatype(MPI_2COMPLEX, 16, 4);
  unusual_datatype(MPI_2DOUBLE_COMPLEX, 32, 8);
#elif defined(MPIX_C_FLOAT16)
  unusual_datatype(MPIX_C_FLOAT16, 2, 2);
#endif
}

int main(int argc, char** argv) {
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  representations(argv[1]);
  file_systems(argv[1]);
#ifdef OPEN_MPI
  parts_of_a_machine();
#endif
  fortran_structs();
  bytes();
  exchange_with_nobody();
  neighbors_of_others();
  ranges_of_ranks();
  unusual_datatypes();
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  return MPI_Finalize();
}
