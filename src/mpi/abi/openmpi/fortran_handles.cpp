// SPDX-License-Identifier: Apache-2.0
#include <array>

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
#define WEFT_MPI_CONSTANT(name, value)
#define WEFT_MPI_HANDLE(type, name, object, number) add(name, number);
#define WEFT_MPI_TYPE(name, object, basic, number) add(name, number);
#include WEFT_MPI_CONSTANTS
#undef WEFT_MPI_TYPE
#undef WEFT_MPI_HANDLE
#undef WEFT_MPI_CONSTANT
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

#define WEFT_MPI_HANDLE_NUMBER(name, Handle) \
  template Handle from_fortran<Handle>(int); \
  template int to_fortran<Handle>(Handle);
#include "mpi/abi/handles.def"
WEFT_MPI_HANDLE_NUMBER(Session, MPI_Session)
#undef WEFT_MPI_HANDLE_NUMBER

}  // namespace weft::mpi::abi
