// SPDX-License-Identifier: Apache-2.0
// The functions of collective communication. Each operation has three, made of the table of
// operations: the first runs to its end, the second goes on while the program does something else,
// the third is prepared once and started again and again. CMake makes their declarations of the
// same table, and abi_test compares those with the installed headers.
#include "mpi/api/collective_call.hpp"
#include "mpi/api/counted.hpp"
#include "mpi/api/intercommunicators.hpp"
#include "mpi/api/topology.hpp"

namespace weft::mpi {
namespace {

template <class Run>
int run(const char* function, MPI_Comm comm, const Run& operation) {
  Collective c(function, comm);
  return operation(c);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Barrier(MPI_Comm comm) {
  Collective c("MPI_Barrier", comm);
  if (!c.ok() || is_inter(*c.communicator)) return barrier(c);
  return c.run_on_board_now({.operation = weft::collective::Operation::barrier}, {}, {}, {});
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return start_collective("MPI_Ibarrier", comm, request, [&](Collective& c) { return barrier(c); });
}

int MPI_Barrier_init(MPI_Comm comm, MPI_Info, MPI_Request* request) {
  return prepare_collective("MPI_Barrier_init", comm, request,
                            [=](Collective& c) { return barrier(c); });
}

#define WEFT_MPI_COLLECTIVE(Name, name, parameters, arguments)                                    \
  WEFT_MPI_COUNTED(MPI_##Name, (WEFT_MPI_LIST parameters, MPI_Comm comm), run,                    \
                   (comm, [&](Collective& c) { return name(c, WEFT_MPI_LIST arguments); }))       \
  WEFT_MPI_COUNTED(MPI_I##name, (WEFT_MPI_LIST parameters, MPI_Comm comm, MPI_Request * request), \
                   start_collective, (comm, request, [&](Collective& c) {                         \
                     return name(c, WEFT_MPI_LIST arguments);                                     \
                   }))                                                                            \
  WEFT_MPI_COUNTED(MPI_##Name##_init,                                                             \
                   (WEFT_MPI_LIST parameters, MPI_Comm comm, MPI_Info, MPI_Request * request),    \
                   prepare_collective, (comm, request, [=](Collective& c) {                       \
                     return name(c, WEFT_MPI_LIST arguments);                                     \
                   }))
#include "mpi/api/collectives.def"
#undef WEFT_MPI_COLLECTIVE
