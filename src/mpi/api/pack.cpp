// SPDX-License-Identifier: Apache-2.0
// Pack and unpack: a program's own messages of several parts. Packed elements are their bytes one
// behind the other.
#include <limits>

#include "mpi/api/counted.hpp"
#include "mpi/api/library.hpp"

namespace weft::mpi {
namespace {

/// The part of a packed buffer that some elements take, checked.
template <class Number>
std::byte* part_of(const Call& call, const void* packed, Number room, const Number* position,
                   std::uint64_t bytes, int& error) {
  if (*position < 0 || room < *position || static_cast<std::uint64_t>(room - *position) < bytes) {
    error = call.fail(&library().world, MPI_ERR_TRUNCATE,
                      "{} bytes at position {} are beyond the packed buffer of {}", bytes,
                      *position, room);
    return nullptr;
  }
  return const_cast<std::byte*>(static_cast<const std::byte*>(packed)) + *position;
}

const Datatype* elements_of(const Call& call, std::int64_t count, MPI_Datatype type, int& error) {
  const Datatype* const found = call.type(type, error);
  if (found == nullptr || count >= 0) return found;
  error = call.fail(&library().world, MPI_ERR_COUNT, "the count is {}", count);
  return nullptr;
}

template <class Number>
int pack(const char* function, const void* from, Number count, MPI_Datatype type, void* packed,
         Number room, Number* position, MPI_Comm) {
  const Call call{function};
  int error = MPI_SUCCESS;
  const Datatype* const found = elements_of(call, count, type, error);
  if (found == nullptr) return error;
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * found->size();
  std::byte* const to = part_of(call, packed, room, position, bytes, error);
  if (to == nullptr) return error;
  found->pack(from, static_cast<std::uint64_t>(count), to);
  *position += static_cast<Number>(bytes);
  return MPI_SUCCESS;
}

template <class Number>
int unpack(const char* function, const void* packed, Number room, Number* position, void* into,
           Number count, MPI_Datatype type, MPI_Comm) {
  const Call call{function};
  int error = MPI_SUCCESS;
  const Datatype* const found = elements_of(call, count, type, error);
  if (found == nullptr) return error;
  const std::uint64_t bytes = static_cast<std::uint64_t>(count) * found->size();
  const std::byte* const from = part_of(call, packed, room, position, bytes, error);
  if (from == nullptr) return error;
  found->unpack({from, bytes}, into);
  *position += static_cast<Number>(bytes);
  return MPI_SUCCESS;
}

template <class Number>
int pack_size(const char* function, Number count, MPI_Datatype type, MPI_Comm, Number* bytes) {
  const Call call{function};
  int error = MPI_SUCCESS;
  const Datatype* const found = elements_of(call, count, type, error);
  if (found == nullptr) return error;
  const std::uint64_t all = static_cast<std::uint64_t>(count) * found->size();
  if (all > static_cast<std::uint64_t>(std::numeric_limits<Number>::max())) {
    return call.fail(&library().world, MPI_ERR_COUNT, "{} bytes are more than the result can tell",
                     all);
  }
  *bytes = static_cast<Number>(all);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_BOTH(MPI_Pack, pack)
WEFT_MPI_BOTH(MPI_Unpack, unpack)
WEFT_MPI_BOTH(MPI_Pack_size, pack_size)
