// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "mpi/abi/openmpi/fortran.hpp"

namespace weft::mpi::abi {
namespace {

constexpr std::size_t most_predefined = 128;

/// Predefined handles of one type, by their numbers in Fortran.
template <class Handle>
using Predefined = std::array<Handle, most_predefined>;

template <class Handle>
const Predefined<Handle>& predefined_of() {
  static const Predefined<Handle> handles = [] {
    Predefined<Handle> made{};
    const auto add = [&](auto handle, std::size_t number) {
      if constexpr (std::is_same_v<decltype(handle), Handle>) made[number] = handle;
    };
#define WEFT_MPI_FORTRAN_HANDLE(name, number) add(name, number);
#include "mpi/abi/openmpi/fortran_handles.def"
#undef WEFT_MPI_FORTRAN_HANDLE
    add(MPI_FILE_NULL, 0);  // another file of Open MPI's has it
    return made;
  }();
  return handles;
}

}  // namespace

template <class Handle>
Handle from_fortran(int handle) {
  if (handle >= first_made) return handle_of(kind_of<Handle>, handle - first_made);
  const auto& predefined = predefined_of<Handle>();
  const auto number = static_cast<std::size_t>(handle);
  return number < predefined.size() ? predefined[number] : nullptr;
}

template <class Handle>
int to_fortran(Handle handle) {
  if (is_of(kind_of<Handle>, handle)) return number_of(handle) + first_made;
  const auto& predefined = predefined_of<Handle>();
  for (std::size_t i = 0; i < predefined.size(); ++i) {
    if (predefined[i] == handle) return static_cast<int>(i);
  }
  return -1;
}

template MPI_Comm from_fortran<MPI_Comm>(int);
template MPI_Datatype from_fortran<MPI_Datatype>(int);
template MPI_Op from_fortran<MPI_Op>(int);
template MPI_Request from_fortran<MPI_Request>(int);
template MPI_Errhandler from_fortran<MPI_Errhandler>(int);
template MPI_Group from_fortran<MPI_Group>(int);
template MPI_Info from_fortran<MPI_Info>(int);
template MPI_Win from_fortran<MPI_Win>(int);
template MPI_Message from_fortran<MPI_Message>(int);
template MPI_File from_fortran<MPI_File>(int);
template int to_fortran<MPI_Comm>(MPI_Comm);
template int to_fortran<MPI_Datatype>(MPI_Datatype);
template int to_fortran<MPI_Op>(MPI_Op);
template int to_fortran<MPI_Request>(MPI_Request);
template int to_fortran<MPI_Errhandler>(MPI_Errhandler);
template int to_fortran<MPI_Group>(MPI_Group);
template int to_fortran<MPI_Info>(MPI_Info);
template int to_fortran<MPI_Win>(MPI_Win);
template int to_fortran<MPI_Message>(MPI_Message);
template int to_fortran<MPI_File>(MPI_File);

}  // namespace weft::mpi::abi
