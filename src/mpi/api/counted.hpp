// SPDX-License-Identifier: Apache-2.0
// Functions that MPI has twice: with counts of 32 bits, and under a name with _c with counts of 64.
#pragma once

#include "mpi/abi/abi.hpp"
#include "mpi/parameters.def"

namespace weft::mpi::counts_of_32_bits {
using Count = int;
using Counts = const int*;
using Displacement = int;
using Displacements = const int*;
using Extent = MPI_Aint;
using Extents = const MPI_Aint*;
}  // namespace weft::mpi::counts_of_32_bits

namespace weft::mpi::counts_of_64_bits {
using Count = MPI_Count;
using Counts = const MPI_Count*;
using Displacement = MPI_Aint;
using Displacements = const MPI_Aint*;
using Extent = MPI_Count;
using Extents = const MPI_Count*;
}  // namespace weft::mpi::counts_of_64_bits

#define WEFT_MPI_LIST(...) __VA_ARGS__

/// Defines both functions. Their parameters have types of those names; `function` of weft::mpi gets
/// the function's name and the arguments.
#define WEFT_MPI_COUNTED(name, parameters, function, arguments) \
  namespace weft::mpi::counts_of_32_bits {                      \
  extern "C" int name parameters {                              \
    return function(#name, WEFT_MPI_LIST arguments);            \
  }                                                             \
  }                                                             \
  namespace weft::mpi::counts_of_64_bits {                      \
  extern "C" int name##_c parameters {                          \
    return function(#name "_c", WEFT_MPI_LIST arguments);       \
  }                                                             \
  }

/// The same, with the parameters that the table has: `function` gets the function's name, the
/// further arguments, and those of the call.
#define WEFT_MPI_BOTH(name, function, ...)                 \
  WEFT_MPI_COUNTED(name, WEFT_PARAMETERS_##name, function, \
                   (__VA_ARGS__ __VA_OPT__(, ) WEFT_ARGUMENTS_##name))
