// SPDX-License-Identifier: Apache-2.0
// Statuses: how many elements came, and those that a program writes itself.
#include <algorithm>
#include <array>
#include <limits>

#include "mpi/api/counted.hpp"
#include "mpi/api/datatypes.hpp"

namespace weft::mpi {
namespace {

/// The number of MPI's basic elements in some bytes; a pair, such as MPI_DOUBLE_INT, has two.
struct Elements {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
};

/// A datatype, as it was made of others.
struct Parts {
  const Datatype* type = nullptr;  ///< null: there is none
  const TypeRecipe* recipe = nullptr;

  Parts(const Call& call, MPI_Datatype handle) {
    int error = MPI_SUCCESS;
    type = call.type(handle, error);
    if (type != nullptr) recipe = &notes_of(*type).recipe;
  }
  bool is_named() const { return recipe->types.empty(); }
  /// Returns the bytes of a predefined datatype's first number, and of a pair's second number.
  std::array<std::uint64_t, 2> numbers() const {
    const Basic basic = type->basic();
    if (basic < Basic::pair_int_int) return {type->size(), 0};
    const bool are_alike = basic == Basic::pair_float_float || basic == Basic::pair_double_double;
    const std::uint64_t place = are_alike ? type->size() / 2 : sizeof(int);
    return {type->size() - place, place};
  }
  std::uint64_t times(const Call& call, std::size_t i) const {
    if (recipe->combiner == MPI_COMBINER_STRUCT) return recipe->block_length(i);
    const std::uint64_t inner = Parts(call, recipe->types[i]).type->size();
    return inner == 0 ? 0 : type->size() / inner;
  }
};

/// The elements at the beginning of one of that type that end within both limits.
Elements within(const Call& call, const Parts& parts, Elements limit) {
  Elements found;
  const auto take = [&](std::uint64_t number, std::uint64_t bytes) {
    if (found.number + number > limit.number || found.bytes + bytes > limit.bytes) return false;
    found.number += number;
    found.bytes += bytes;
    return true;
  };
  if (parts.is_named()) {
    for (const std::uint64_t bytes : parts.numbers()) {
      if (bytes == 0 || !take(1, bytes)) break;
    }
    return found;
  }
  for (std::size_t i = 0; i < parts.recipe->types.size(); ++i) {
    const Parts inner(call, parts.recipe->types[i]);
    const std::uint64_t number = facts_of(*inner.type).elements, bytes = inner.type->size();
    if (number == 0) continue;
    const std::uint64_t times =
        std::min({parts.times(call, i), (limit.number - found.number) / number,
                  (limit.bytes - found.bytes) / bytes});
    take(times * number, times * bytes);
    if (times == parts.times(call, i)) continue;
    const Elements rest =
        within(call, inner, {limit.number - found.number, limit.bytes - found.bytes});
    take(rest.number, rest.bytes);
    break;
  }
  return found;
}

/// The same of an array of that type.
Elements within_array(const Call& call, const Parts& parts, Elements limit) {
  const std::uint64_t number = facts_of(*parts.type).elements, bytes = parts.type->size();
  if (number == 0) return {};
  const std::uint64_t times = std::min(limit.number / number, limit.bytes / bytes);
  const Elements rest =
      within(call, parts, {limit.number - times * number, limit.bytes - times * bytes});
  return {times * number + rest.number, times * bytes + rest.bytes};
}

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

template <class Number>
int get_elements(const char* function, const MPI_Status* status, MPI_Datatype type, Number* count) {
  const Call call{function};
  const Parts parts(call, type);
  if (parts.type == nullptr) return MPI_ERR_TYPE;
  if (const int error = call.check_status(status); error != MPI_SUCCESS) return error;
  if (const int error = call.check_results(count); error != MPI_SUCCESS) return error;
  const std::uint64_t bytes = abi::bytes_in(*status);
  const Elements found = within_array(call, parts, {unlimited, bytes});
  *count = static_cast<Number>(MPI_UNDEFINED);
  const bool has_room =
      found.number <= static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  if (parts.type->size() == 0 || (found.bytes == bytes && has_room)) {
    *count = static_cast<Number>(found.number);
  }
  return MPI_SUCCESS;
}

int set_elements(const char* function, MPI_Status* status, MPI_Datatype type, std::int64_t count) {
  const Call call{function};
  const Parts parts(call, type);
  if (parts.type == nullptr) return MPI_ERR_TYPE;
  if (const int error = call.check_status(status); error != MPI_SUCCESS) return error;
  const Elements found = within_array(call, parts, {static_cast<std::uint64_t>(count), unlimited});
  abi::write_bytes(*status, found.bytes, abi::is_cancelled(*status));
  return MPI_SUCCESS;
}

}  // namespace

}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_BOTH(MPI_Get_elements, get_elements)
int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count) {
  return get_elements("MPI_Get_elements_x", status, type, count);
}
WEFT_MPI_COUNTED(MPI_Status_set_elements, (MPI_Status * status, MPI_Datatype type, Count count),
                 set_elements, (status, type, count))
int MPI_Status_set_elements_x(MPI_Status* status, MPI_Datatype type, MPI_Count count) {
  return set_elements("MPI_Status_set_elements_x", status, type, count);
}

int MPI_Status_set_cancelled(MPI_Status* status, int flag) {
  const Call call{"MPI_Status_set_cancelled"};
  if (const int error = call.check_status(status); error != MPI_SUCCESS) return error;
  abi::write_bytes(*status, abi::bytes_in(*status), flag != 0);
  return MPI_SUCCESS;
}
