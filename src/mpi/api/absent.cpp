// SPDX-License-Identifier: Apache-2.0
// Functions that are not there yet.
#include "mpi/api/absent.hpp"

#define WEFT_MPI_ABSENT(name)        \
  extern "C" int name() {            \
    return weft::mpi::absent(#name); \
  }
#include WEFT_MPI_ABSENT_TABLE
#undef WEFT_MPI_ABSENT
