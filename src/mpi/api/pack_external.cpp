// SPDX-License-Identifier: Apache-2.0
// Pack and unpack in external32, the representation that all machines share: numbers have their
// highest byte first.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "mpi/api/library.hpp"

namespace weft::mpi {
namespace {

/// The bytes of one number, whose order is turned; 0: external32 of that type is not there.
std::uint64_t turned_bytes(Basic basic) {
  switch (basic) {
    case Basic::complex32:
    case Basic::pair_int_int:
    case Basic::pair_float_int:
    case Basic::pair_float_float:
      return 4;
    case Basic::complex64:
    case Basic::pair_double_double:
      return 8;
    case Basic::none:
    case Basic::float_long:
    case Basic::complex_long:
    case Basic::pair_double_int:
    case Basic::pair_long_int:
    case Basic::pair_short_int:
    case Basic::pair_long_double_int:
      return 0;
    default:
      return bytes_of(basic);
  }
}

void turn(std::byte* bytes, std::uint64_t size, std::uint64_t number) {
  for (std::uint64_t i = 0; i < size; i += number) std::reverse(bytes + i, bytes + i + number);
}

struct External {
  Call call;
  int error = MPI_SUCCESS;
  const Datatype* type = nullptr;
  std::uint64_t number = 0;  ///< bytes
  std::uint64_t bytes = 0;

  External(const char* function, const char* representation, std::int64_t count,
           MPI_Datatype handle)
      : call{function} {
    if (std::string_view(representation) != "external32") {
      refuse(MPI_ERR_ARG, fmt::format("'{}' is no representation; use external32", representation));
      return;
    }
    type = call.type(handle, error);
    if (type == nullptr) return;
    number = turned_bytes(type->basic());
    if (number == 0) {
      refuse(MPI_ERR_TYPE,
             "weft has external32 for datatypes of one kind of numbers alone, which are not long "
             "double or padded pairs");
    } else if (count < 0) {
      refuse(MPI_ERR_COUNT, fmt::format("the count is {}", count));
    }
    if (error != MPI_SUCCESS) return;
    bytes = static_cast<std::uint64_t>(count) * type->size();
  }
  void refuse(int code, const std::string& what) {
    error = call.fail(&library().world, code, what);
  }
  bool fits(MPI_Aint room, MPI_Aint position) {
    if (position >= 0 && room >= position && static_cast<std::uint64_t>(room - position) >= bytes) {
      return true;
    }
    refuse(MPI_ERR_TRUNCATE, fmt::format("{} bytes at position {} are beyond the packed buffer "
                                         "of {}",
                                         bytes, position, room));
    return false;
  }
};

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Pack_external(const char* representation, const void* from, int count, MPI_Datatype type,
                      void* packed, MPI_Aint room, MPI_Aint* position) {
  External e("MPI_Pack_external", representation, count, type);
  if (e.error != MPI_SUCCESS || !e.fits(room, *position)) return e.error;
  auto* const to = static_cast<std::byte*>(packed) + *position;
  e.type->pack(from, static_cast<std::uint64_t>(count), to);
  turn(to, e.bytes, e.number);
  *position += static_cast<MPI_Aint>(e.bytes);
  return MPI_SUCCESS;
}

int MPI_Unpack_external(const char* representation, const void* packed, MPI_Aint room,
                        MPI_Aint* position, void* into, int count, MPI_Datatype type) {
  External e("MPI_Unpack_external", representation, count, type);
  if (e.error != MPI_SUCCESS || !e.fits(room, *position)) return e.error;
  const auto* const from = static_cast<const std::byte*>(packed) + *position;
  std::vector<std::byte> turned(from, from + e.bytes);
  turn(turned.data(), e.bytes, e.number);
  e.type->unpack(turned, into);
  *position += static_cast<MPI_Aint>(e.bytes);
  return MPI_SUCCESS;
}

int MPI_Pack_external_size(const char* representation, int count, MPI_Datatype type,
                           MPI_Aint* bytes) {
  const External e("MPI_Pack_external_size", representation, count, type);
  if (e.error == MPI_SUCCESS) *bytes = static_cast<MPI_Aint>(e.bytes);
  return e.error;
}
