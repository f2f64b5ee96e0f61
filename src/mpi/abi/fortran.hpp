// SPDX-License-Identifier: Apache-2.0
// Fortran's handles and sentinels of the ABI that a library is compiled for.
#pragma once

#if defined(WEFT_MPI_MPICH)
#include "mpi/abi/mpich/fortran.hpp"
#elif defined(WEFT_MPI_ABOVE_ABI)
#include "mpi/abi/standard/fortran_above.hpp"
#elif defined(WEFT_MPI_STANDARD)
#include "mpi/abi/standard/fortran.hpp"
#else
#include "mpi/abi/openmpi/fortran.hpp"
#endif
