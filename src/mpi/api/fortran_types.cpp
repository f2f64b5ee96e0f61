// SPDX-License-Identifier: Apache-2.0
// Datatypes of Fortran's numbers, by their precision and range.
#include <map>
#include <tuple>

#include "mpi/api/datatypes.hpp"

namespace weft::mpi {
namespace {

/// The types of one precision and range are one.
int make_once(TypeMaker maker, MPI_Datatype basic, int precision, int range, MPI_Datatype* made) {
  if (const int error = maker.call.check_results(made); error != MPI_SUCCESS) return error;
  static auto* const all = new std::map<std::tuple<int, int, int>, MPI_Datatype>;
  const auto [place, is_new] = all->try_emplace({maker.recipe.combiner, precision, range});
  if (is_new) {
    const Datatype* const found = maker.old(basic);
    if (found == nullptr) return maker.error;
    maker.recipe.types.clear();
    const int error = maker.make(*found, &place->second);
    if (error != MPI_SUCCESS) return error;
    MadeType& kept = *find_made(place->second);
    kept.is_committed = true;
    ++kept.uses;  // it is never freed
  }
  *made = place->second;
  return MPI_SUCCESS;
}

/// Index 0: 4 bytes, 1: 8 bytes; −1: no type has that precision and range.
int real_size(int precision, int range) {
  const int p = precision == MPI_UNDEFINED ? 0 : precision;
  const int r = range == MPI_UNDEFINED ? 0 : range;
  if (p <= 6 && r <= 37) return 0;
  return p <= 15 && r <= 307 ? 1 : -1;
}

int make_real(const char* function, int combiner, int precision, int range,
              const MPI_Datatype (&types)[2], MPI_Datatype* made) {
  TypeMaker maker(function, combiner);
  const int size = real_size(precision, range);
  if (size < 0) {
    return maker.call.fail(&library().world, MPI_ERR_ARG,
                           "no type has {} digits and exponents up to {}", precision, range);
  }
  maker.note(precision);
  maker.note(range);
  return make_once(std::move(maker), types[size], precision, range, made);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Type_create_f90_real(int precision, int range, MPI_Datatype* made) {
  return make_real("MPI_Type_create_f90_real", MPI_COMBINER_F90_REAL, precision, range,
                   {MPI_REAL4, MPI_REAL8}, made);
}

int MPI_Type_create_f90_complex(int precision, int range, MPI_Datatype* made) {
  return make_real("MPI_Type_create_f90_complex", MPI_COMBINER_F90_COMPLEX, precision, range,
                   {MPI_COMPLEX8, MPI_COMPLEX16}, made);
}

int MPI_Type_create_f90_integer(int range, MPI_Datatype* made) {
  TypeMaker maker("MPI_Type_create_f90_integer", MPI_COMBINER_F90_INTEGER);
  if (range > 18) {
    return maker.call.fail(&library().world, MPI_ERR_ARG, "no integer has {} digits", range);
  }
  maker.note(range);
  const MPI_Datatype type = range <= 2   ? MPI_INTEGER1
                            : range <= 4 ? MPI_INTEGER2
                            : range <= 9 ? MPI_INTEGER4
                                         : MPI_INTEGER8;
  return make_once(std::move(maker), type, range, 0, made);
}
