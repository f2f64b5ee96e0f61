// SPDX-License-Identifier: Apache-2.0
// The functions of collective communication. Each operation has three, made of the table of
// operations: the first runs to its end, the second goes on while the program does something else,
// the third is prepared once and started again and again. The compiler compares them with their
// declarations in mpi/abi/functions.def.
#include "mpi/api/collective_call.hpp"
#include "mpi/api/topology.hpp"

using namespace weft::mpi;

int MPI_Barrier(MPI_Comm comm) {
  Collective c("MPI_Barrier", comm);
  return barrier(c);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ibarrier", comm, request, [&](Collective& c) { return barrier(c); });
}

int MPI_Barrier_init(MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Barrier_init", comm, request,
                            [=](Collective& c) { return barrier(c); });
}

#define WEFT_MPI_LIST(...) __VA_ARGS__
#define WEFT_MPI_COLLECTIVE_OF(Name, name, suffix, parameters, arguments)                       \
  int MPI_##Name##suffix(WEFT_MPI_LIST parameters, MPI_Comm comm) {                             \
    Collective c("MPI_" #Name #suffix, comm);                                                   \
    return name(c, WEFT_MPI_LIST arguments);                                                    \
  }                                                                                             \
  int MPI_I##name##suffix(WEFT_MPI_LIST parameters, MPI_Comm comm, MPI_Request* request) {      \
    return start_collective("MPI_I" #name #suffix, comm, request,                               \
                            [&](Collective& c) { return name(c, WEFT_MPI_LIST arguments); });   \
  }                                                                                             \
  int MPI_##Name##_init##suffix(WEFT_MPI_LIST parameters, MPI_Comm comm, MPI_Info,              \
                                MPI_Request* request) {                                         \
    return prepare_collective("MPI_" #Name "_init" #suffix, comm, request,                      \
                              [=](Collective& c) { return name(c, WEFT_MPI_LIST arguments); }); \
  }

extern "C" {

namespace weft::mpi::counts_of_32_bits {
using Count = int;
using Counts = const int*;
using Displacements = const int*;
#define WEFT_MPI_COLLECTIVE(Name, name, parameters, arguments) \
  WEFT_MPI_COLLECTIVE_OF(Name, name, , parameters, arguments)
#include "mpi/api/collectives.def"
#undef WEFT_MPI_COLLECTIVE
}  // namespace weft::mpi::counts_of_32_bits

namespace weft::mpi::counts_of_64_bits {
using Count = MPI_Count;
using Counts = const MPI_Count*;
using Displacements = const MPI_Aint*;
#define WEFT_MPI_COLLECTIVE(Name, name, parameters, arguments) \
  WEFT_MPI_COLLECTIVE_OF(Name, name, _c, parameters, arguments)
#include "mpi/api/collectives.def"
#undef WEFT_MPI_COLLECTIVE
}  // namespace weft::mpi::counts_of_64_bits

}  // extern "C"

#undef WEFT_MPI_COLLECTIVE_OF
#undef WEFT_MPI_LIST
