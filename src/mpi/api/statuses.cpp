// SPDX-License-Identifier: Apache-2.0
// Statuses: how many elements came, and those that a program writes itself.
#include <algorithm>

#include "mpi/api/datatypes.hpp"

namespace weft::mpi {
namespace {

/// Appends the bytes, as they travel, of each basic element of a datatype. False: it is invalid.
bool add_elements(const Call& call, MPI_Datatype type, std::vector<std::uint64_t>& sizes) {
  int error = MPI_SUCCESS;
  const Datatype* const found = call.type(type, error);
  if (found == nullptr) return false;
  const TypeRecipe& recipe = notes_of(*found).recipe;
  if (recipe.combiner == MPI_COMBINER_NAMED) {
    const bool is_pair = found->basic() >= Basic::pair_int_int;
    const std::size_t parts = is_pair ? 2 : 1;
    sizes.insert(sizes.end(), parts, found->size() / parts);
    return true;
  }
  const bool is_struct = recipe.combiner == MPI_COMBINER_STRUCT;
  for (std::size_t i = 0; i < recipe.types.size(); ++i) {
    std::vector<std::uint64_t> inner;
    if (!add_elements(call, recipe.types[i], inner)) return false;
    const std::uint64_t bytes = call.type(recipe.types[i], error)->size();
    const std::uint64_t times = is_struct    ? static_cast<std::uint64_t>(recipe.integers[i + 1])
                                : bytes == 0 ? 0
                                             : found->size() / bytes;
    for (std::uint64_t n = 0; n < times; ++n) sizes.insert(sizes.end(), inner.begin(), inner.end());
  }
  return true;
}

template <class Number>
int get_elements(const char* function, const MPI_Status* status, MPI_Datatype type, Number* count) {
  const Call call{function};
  std::vector<std::uint64_t> sizes;
  if (!add_elements(call, type, sizes)) return MPI_ERR_TYPE;
  std::uint64_t all = 0;
  for (const std::uint64_t size : sizes) all += size;
  const std::uint64_t bytes = abi::bytes_in(*status);
  *count = 0;
  if (all == 0) return MPI_SUCCESS;
  std::uint64_t rest = bytes % all;
  std::uint64_t elements = bytes / all * sizes.size();
  for (std::size_t i = 0; i < sizes.size() && rest >= sizes[i]; ++i, ++elements) rest -= sizes[i];
  *count = rest == 0 ? static_cast<Number>(elements) : static_cast<Number>(MPI_UNDEFINED);
  return MPI_SUCCESS;
}

int set_elements(const char* function, MPI_Status* status, MPI_Datatype type, std::int64_t count) {
  const Call call{function};
  std::vector<std::uint64_t> sizes;
  if (!add_elements(call, type, sizes)) return MPI_ERR_TYPE;
  std::uint64_t bytes = 0;
  for (std::int64_t i = 0; i < count && !sizes.empty(); ++i) {
    bytes += sizes[static_cast<std::size_t>(i) % sizes.size()];
  }
  abi::write_bytes(*status, bytes, abi::is_cancelled(*status));
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Get_elements(const MPI_Status* status, MPI_Datatype type, int* count) {
  return get_elements("MPI_Get_elements", status, type, count);
}
int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return get_elements("MPI_Get_elements_x", status, type, count);
}
int MPI_Get_elements_c(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return get_elements("MPI_Get_elements_c", status, type, count);
}

int MPI_Status_set_elements(MPI_Status* status, MPI_Datatype type, int count) {
  return set_elements("MPI_Status_set_elements", status, type, count);
}
int MPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype type, MPI_Count count) {
  return set_elements("MPI_Status_set_elements_x", status, type, count);
}

int MPI_Status_set_cancelled(MPI_Status* status, int flag) {
  abi::write_bytes(*status, abi::bytes_in(*status), flag != 0);
  return MPI_SUCCESS;
}
