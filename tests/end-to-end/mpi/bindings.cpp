// SPDX-License-Identifier: Apache-2.0
// Open MPI's C++ bindings of MPI-2, with a function of the program's own as operation, and MPI-1's
// datatypes for the bounds of a struct, which Open MPI's library still has.
#include <mpi.h>

#include <cstdio>

extern "C" {
extern ompi_predefined_datatype_t ompi_mpi_lb, ompi_mpi_ub;
}

namespace {

void largest(const void* in, void* inout, int count, const MPI::Datatype& type) {
  for (int i = 0; i < count && type == MPI::INT; ++i) {
    int& most = static_cast<int*>(inout)[i];
    const int value = static_cast<const int*>(in)[i];
    if (value > most) most = value;
  }
}

/// Two numbers from 4 bytes before them on: the next ones follow 24 bytes later.
int sum_of_bounded() {
  int lengths[] = {1, 2, 1};
  MPI_Aint places[] = {-4, 0, 20};
  MPI_Datatype types[] = {OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_lb), MPI_INT,
                          OMPI_PREDEFINED_GLOBAL(MPI_Datatype, ompi_mpi_ub)};
  MPI_Datatype made;
  MPI_Type_create_struct(3, lengths, places, types, &made);
  MPI::Datatype type(made);
  type.Commit();
  int in[12], out[12] = {}, sum = 0;
  for (int i = 0; i < 12; ++i) in[i] = i + 1;
  MPI::COMM_SELF.Sendrecv(in, 2, type, 0, 0, out, 2, type, 0, 0);
  for (const int number : out) sum += number;
  type.Free();
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  const int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size();
  const int values[] = {rank * rank, -rank};
  int most[] = {0, 0};
  MPI::Op operation;
  operation.Init(&largest, true);
  MPI::COMM_WORLD.Allreduce(values, most, 2, MPI::INT, operation);
  operation.Free();
  MPI::Intracomm half = MPI::COMM_WORLD.Split(rank % 2, rank);
  const int bounded = sum_of_bounded();
  if (rank == 0) {
    std::printf("%d processes, %d here, at most %d and %d, bounded %d\n", size, half.Get_size(),
                most[0], most[1], bounded);
  }
  half.Free();
  MPI::Finalize();
  return 0;
}
