// SPDX-License-Identifier: Apache-2.0
// Folds of MPI's predefined operations.
#pragma once

#include <cstdint>

#include "mpi/object/datatype.hpp"

namespace weft::mpi {

enum class Fold : std::uint8_t {
  max,
  min,
  sum,
  product,
  logical_and,
  bit_and,
  logical_or,
  bit_or,
  logical_xor,
  bit_xor,
  min_place,
  max_place,
};

/// inout[i] = in[i] ∘ inout[i]. False, and nothing happens: the operation is not defined for those
/// values. Aligned as the values are; pairs with a gap are without it, and need not be aligned.
bool fold(Fold operation, Basic basic, const void* in, void* inout, std::uint64_t values);

}  // namespace weft::mpi
