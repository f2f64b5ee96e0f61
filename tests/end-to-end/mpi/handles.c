// SPDX-License-Identifier: Apache-2.0
/* Handles of datatypes that calls give to a program, and those that a file has of its own: whose
   attributes are copied and deleted, and when.
     handles FILE */
#include <mpi.h>
#include <stdio.h>

#include "resident.h"

static int failures = 0, rank, size, copies = 0, deletions = 0;

static void expect(long got, long wanted, const char* what) {
  if (got == wanted) return;
  ++failures;
  printf("rank %d: %s: %ld, not %ld\n", rank, what, got, wanted);
}

static int copy(MPI_Datatype type, int key, void* extra, void* in, void* out, int* flag) {
  ++copies;
  *(void**)out = in;
  *flag = 1;
  return MPI_SUCCESS;
}

static int forget(MPI_Datatype type, int key, void* value, void* extra) {
  ++deletions;
  return MPI_SUCCESS;
}

/* Two integers, with an attribute. */
static MPI_Datatype marked(int key) {
  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_set_attr(type, key, &failures);
  MPI_Type_commit(&type);
  copies = deletions = 0;
  return type;
}

static void parts_of_a_datatype(int key) {
  MPI_Datatype type = marked(key), whole, part[2];
  MPI_Aint addresses[1];
  int integers[3], flag = 0, bytes = 0;
  void* value = NULL;
  MPI_Type_vector(3, 1, 2, type, &whole);
  for (int i = 0; i < 2; ++i) MPI_Type_get_contents(whole, 3, 0, 1, integers, addresses, &part[i]);
  MPI_Type_free(&whole);
  MPI_Type_free(&part[0]);
  expect(deletions, 0, "attributes deleted with a handle of the contents");
  MPI_Type_get_attr(type, key, &value, &flag);
  expect(flag && value == &failures, 1, "the attribute is there");
  MPI_Type_free(&type);
  MPI_Type_size(part[1], &bytes);
  expect(bytes, 2 * sizeof(int), "the bytes of a part whose first handle was freed");
  MPI_Type_free(&part[1]);
  expect(deletions, 1, "attributes deleted with the last handle");
}

static void views_of_a_file(const char* path, int key) {
  MPI_Datatype type = marked(key), element, tile;
  MPI_Offset displacement;
  MPI_File file;
  char name[MPI_MAX_DATAREP_STRING];
  int bytes = 0, flag = 1, numbers[4];
  void* value;
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, 4, type, type, "native", MPI_INFO_NULL);
  MPI_File_get_view(file, &displacement, &element, &tile, name);
  MPI_Type_get_attr(tile, key, &value, &flag);
  expect(flag, 0, "a view's datatype has attributes");
  MPI_Type_free(&element);
  MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL);
  MPI_File_close(&file);
  MPI_Type_size(tile, &bytes);
  expect(bytes, 2 * sizeof(int), "the bytes of a view's datatype after its file was closed");
  MPI_Sendrecv(numbers, 1, tile, 0, 0, numbers + 2, 1, tile, 0, 0, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);  // it is committed
  MPI_Type_free(&tile);
  expect(copies, 0, "attributes copied by a file");
  expect(deletions, 0, "attributes deleted by a file");
  MPI_Type_free(&type);
  expect(deletions, 1, "attributes deleted with a datatype that was a view's");
}

/* A file lets go of the datatypes of its last view. */
static void closed_files(const char* path) {
  long before = 0;
  for (int i = 0; i < 1000; ++i) {
    MPI_File file;
    MPI_Datatype tile;
    if (i == 200) before = resident_kib();
    MPI_Type_vector(4096, 1, 2, MPI_INT, &tile);
    MPI_Type_commit(&tile);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, tile, "native", MPI_INFO_NULL);
    MPI_File_close(&file);
    MPI_Type_free(&tile);
  }
  expect(resident_kib() - before > 20 << 10, 0, "closed files take memory");
}

int main(int argc, char** argv) {
  int key, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Type_create_keyval(copy, forget, &key, NULL);
  parts_of_a_datatype(key);
  views_of_a_file(argv[1], key);
  closed_files(argv[1]);
  MPI_Type_free_keyval(&key);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_File_delete(argv[1], MPI_INFO_NULL);
  MPI_Reduce(&failures, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d processes, %d failures\n", size, all);
  return MPI_Finalize();
}
