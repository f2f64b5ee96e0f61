// SPDX-License-Identifier: Apache-2.0
// Pack and unpack in external32, the representation that all machines share: numbers have their
// highest byte first.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "mpi/api/datatypes.hpp"

namespace weft::mpi {
namespace {

/// Appends the predefined datatypes that one is made of.
void add_named(const Call& call, MPI_Datatype handle, std::vector<MPI_Datatype>& named) {
  int error = MPI_SUCCESS;
  const Datatype* const type = call.type(handle, error);
  const TypeRecipe& recipe = notes_of(*type).recipe;
  if (recipe.types.empty()) return named.push_back(handle);
  for (const MPI_Datatype inner : recipe.types) add_named(call, inner, named);
}

struct External {
  Call call;
  int error = MPI_SUCCESS;
  const Datatype* type = nullptr;
  std::uint64_t number = 0;   ///< bytes, in memory
  std::uint64_t outside = 0;  ///< bytes, in external32: a long has 4
  bool is_signed = false;
  std::uint64_t bytes = 0;  ///< of all, in external32

  External(const char* function, const char* representation, std::int64_t count,
           MPI_Datatype handle)
      : call{function} {
    if (std::string_view(representation) != "external32") {
      refuse(MPI_ERR_ARG, fmt::format("'{}' is no representation; use external32", representation));
      return;
    }
    type = call.type(handle, error);
    if (type == nullptr) return;
    number = shape_of(type->basic()).turned;
    if (number == 0) {
      refuse(MPI_ERR_TYPE,
             "weft has external32 for datatypes of one kind of numbers alone, which are not long "
             "double or padded pairs");
    } else if (count < 0) {
      refuse(MPI_ERR_COUNT, fmt::format("the count is {}", count));
    }
    if (error == MPI_SUCCESS) outside = outside_bytes(handle);
    if (error != MPI_SUCCESS) return;
    bytes = static_cast<std::uint64_t>(count) * type->size() / number * outside;
  }
  std::uint64_t outside_bytes(MPI_Datatype handle) {
    std::vector<MPI_Datatype> named;
    add_named(call, handle, named);
    const auto is_long = [&](MPI_Datatype each) {
      is_signed |= each == MPI_LONG;
      return each == MPI_LONG || each == MPI_UNSIGNED_LONG;
    };
    const auto longs = std::count_if(named.begin(), named.end(), is_long);
    if (longs == 0) return number;
    if (longs != static_cast<std::ptrdiff_t>(named.size())) {
      refuse(MPI_ERR_TYPE, "weft has no external32 for datatypes of long and of long long");
    }
    return 4;
  }
  /// Converts packed elements to MPI's external32, with each number's highest byte first.
  void to_external(const std::vector<std::byte>& packed, std::byte* to) const {
    for (std::size_t i = 0; i < packed.size(); i += number, to += outside) {
      std::reverse_copy(packed.data() + i, packed.data() + i + outside, to);
    }
  }
  std::vector<std::byte> from_external(const std::byte* from) const {
    std::vector<std::byte> packed(bytes / outside * number);
    for (std::size_t i = 0; i < packed.size(); i += number, from += outside) {
      std::reverse_copy(from, from + outside, packed.data() + i);
      const bool is_negative = is_signed && (from[0] & std::byte{0x80}) != std::byte{0};
      std::fill(packed.data() + i + outside, packed.data() + i + number,
                is_negative ? std::byte{0xff} : std::byte{0});
    }
    return packed;
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
  std::vector<std::byte> elements(static_cast<std::uint64_t>(count) * e.type->size());
  e.type->pack(from, static_cast<std::uint64_t>(count), elements.data());
  e.to_external(elements, static_cast<std::byte*>(packed) + *position);
  *position += static_cast<MPI_Aint>(e.bytes);
  return MPI_SUCCESS;
}

int MPI_Unpack_external(const char* representation, const void* packed, MPI_Aint room,
                        MPI_Aint* position, void* into, int count, MPI_Datatype type) {
  External e("MPI_Unpack_external", representation, count, type);
  if (e.error != MPI_SUCCESS || !e.fits(room, *position)) return e.error;
  e.type->unpack(e.from_external(static_cast<const std::byte*>(packed) + *position), into);
  *position += static_cast<MPI_Aint>(e.bytes);
  return MPI_SUCCESS;
}

int MPI_Pack_external_size(const char* representation, int count, MPI_Datatype type,
                           MPI_Aint* bytes) {
  const External e("MPI_Pack_external_size", representation, count, type);
  if (e.error == MPI_SUCCESS) *bytes = static_cast<MPI_Aint>(e.bytes);
  return e.error;
}
