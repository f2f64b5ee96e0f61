// SPDX-License-Identifier: Apache-2.0
// Pack and unpack in external32.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "mpi/api/counted.hpp"
#include "mpi/api/external.hpp"

namespace weft::mpi {
namespace {

struct External {
  Call call;
  int error = MPI_SUCCESS;
  const Datatype* type = nullptr;
  std::optional<ExternalLayout> layout;
  std::uint64_t bytes = 0;  ///< of all, in external32

  External(const char* function, const char* representation, std::int64_t count,
           MPI_Datatype handle, const void* place)
      : call{function} {
    if ((error = call.check_results(representation, place)) != MPI_SUCCESS) return;
    if (!is_external32(representation)) {
      refuse(MPI_ERR_ARG, fmt::format("'{}' is no representation; use external32", representation));
      return;
    }
    type = call.type(handle, error);
    if (type == nullptr) return;
    // No number has more bytes in external32 than in memory.
    const auto most =
        std::numeric_limits<std::int64_t>::max() / std::max<std::uint64_t>(type->size(), 1);
    if (count < 0 || static_cast<std::uint64_t>(count) > most) {
      refuse(MPI_ERR_COUNT,
             fmt::format("the count is {}, of a datatype of {} bytes", count, type->size()));
      return;
    }
    layout.emplace(call, handle, static_cast<std::uint64_t>(count));
    bytes = layout->outside();
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

template <class Number>
int pack_external(const char* function, const char* representation, const void* from,
                  std::int64_t count, MPI_Datatype type, void* packed, Number room,
                  Number* position) {
  External e(function, representation, count, type, position);
  if (e.error != MPI_SUCCESS || !e.fits(room, *position)) return e.error;
  std::vector<std::byte> elements(e.layout->inside());
  e.type->pack(from, static_cast<std::uint64_t>(count), elements.data());
  e.layout->to_external(elements.data(), static_cast<std::byte*>(packed) + *position);
  *position += static_cast<Number>(e.bytes);
  return MPI_SUCCESS;
}

template <class Number>
int unpack_external(const char* function, const char* representation, const void* packed,
                    Number room, Number* position, void* into, std::int64_t count,
                    MPI_Datatype type) {
  External e(function, representation, count, type, position);
  if (e.error != MPI_SUCCESS || !e.fits(room, *position)) return e.error;
  std::vector<std::byte> elements(e.layout->inside());
  e.layout->from_external({static_cast<const std::byte*>(packed) + *position, e.bytes},
                          elements.data());
  e.type->unpack(elements, into);
  *position += static_cast<Number>(e.bytes);
  return MPI_SUCCESS;
}

template <class Number>
int pack_external_size(const char* function, const char* representation, std::int64_t count,
                       MPI_Datatype type, Number* bytes) {
  const External e(function, representation, count, type, bytes);
  if (e.error == MPI_SUCCESS) *bytes = static_cast<Number>(e.bytes);
  return e.error;
}

}  // namespace
}  // namespace weft::mpi

WEFT_MPI_COUNTED(MPI_Pack_external,
                 (const char* representation, const void* from, Count count, MPI_Datatype type,
                  void* packed, Extent room, Extent* position),
                 pack_external, (representation, from, count, type, packed, room, position))
WEFT_MPI_COUNTED(MPI_Unpack_external,
                 (const char* representation, const void* packed, Extent room, Extent* position,
                  void* into, Count count, MPI_Datatype type),
                 unpack_external, (representation, packed, room, position, into, count, type))
WEFT_MPI_COUNTED(MPI_Pack_external_size,
                 (const char* representation, Count count, MPI_Datatype type, Extent* bytes),
                 pack_external_size, (representation, count, type, bytes))
