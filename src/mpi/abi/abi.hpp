// SPDX-License-Identifier: Apache-2.0
// The ABI that the library is compiled for, by a definition of its CMake target. All sources of
// mpi/api are compiled once per ABI. They know an ABI by this alone:
//
// * MPI's types, constants and functions under their own names
// * WEFT_MPI_CONSTANTS, the file of its table of constants and predefined datatypes
// * weft::mpi::abi: sentinels, the fields of a status, the kinds of made objects
// * weft::mpi: `is_of`, `number_of` and `handle_of`, between handles and numbers of made objects
#pragma once

#if defined(WEFT_MPI_MPICH)
#include "mpi/abi/mpich/abi.hpp"
#elif defined(WEFT_MPI_OPENMPI)
#include "mpi/abi/openmpi/abi.hpp"
#elif defined(WEFT_MPI_STANDARD)
#include "mpi/abi/standard/abi.hpp"
#else
#error "define WEFT_MPI_MPICH, WEFT_MPI_OPENMPI or WEFT_MPI_STANDARD"
#endif

#define WEFT_MPI_FUNCTION(result, name, parameters) extern "C" result name parameters;
#include "mpi/functions.def"
#undef WEFT_MPI_FUNCTION
