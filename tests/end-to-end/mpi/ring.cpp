// SPDX-License-Identifier: Apache-2.0
// A program in C++ for the standard's ABI: the fields of its statuses, its attributes' functions
// that are numbers, and its handles as integers.
#include <mpi.h>

#include <cstdio>

namespace {

int failures = 0;
void expect(bool good, const char* what) {
  if (good) return;
  std::printf("not so: %s\n", what);
  ++failures;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0, major = 0, minor = -1, flag = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Abi_get_version(&major, &minor);
  expect(major == 1 && minor == 0, "the ABI is 1.0");

  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  int sent[3] = {rank, 2 * rank, 3 * rank}, got[4] = {};
  MPI_Status status{};
  MPI_Sendrecv(sent, 3, MPI_INT, to, 7, got, 4, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
               MPI_COMM_WORLD, &status);
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  expect(status.MPI_SOURCE == from && status.MPI_TAG == 7 && count == 3 && got[2] == 3 * from,
         "a receive with wildcards fills the status");

  int key = 0;
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &failures);
  MPI_Comm dup = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  void* value = nullptr;
  MPI_Comm_get_attr(dup, key, &value, &flag);
  expect(flag == 1 && value == &failures, "MPI_COMM_DUP_FN copies an attribute");

  expect(MPI_Comm_toint(MPI_COMM_WORLD) == 0x101, "MPI_COMM_WORLD is 0x101");
  expect(MPI_Comm_fromint(MPI_Comm_toint(dup)) == dup,
         "a communicator comes back from its integer");
  MPI_Comm_free(&dup);
  expect(dup == MPI_COMM_NULL, "a freed communicator's handle is MPI_COMM_NULL");

  int bad = failures, all = 0;
  MPI_Reduce(&bad, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d processes, %d failures\n", size, all);
  MPI_Finalize();
  return 0;
}
