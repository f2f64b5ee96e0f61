// SPDX-License-Identifier: Apache-2.0
// Questions about datatypes, their names and how they were made.
#include "mpi/api/datatypes.hpp"
#include "mpi/api/counted.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "mpi/api/text.hpp"
#include "mpi/api/windows.hpp"

namespace weft::mpi {
namespace {

/// MPI_UNDEFINED, if it is too large for the caller's integer.
template <class Number>
void write_number(std::uint64_t value, Number* to) {
  *to = value <= static_cast<std::uint64_t>(std::numeric_limits<Number>::max())
            ? static_cast<Number>(value)
            : static_cast<Number>(MPI_UNDEFINED);
}

template <class Number>
int size_of(const char* function, MPI_Datatype type, Number* size) {
  const TypeCall call(function, type, size);
  if (!call) return call.error;
  write_number(call->size(), size);
  return MPI_SUCCESS;
}

template <class Number>
int extent_of(const char* function, MPI_Datatype type, Number* lower, Number* extent) {
  const TypeCall call(function, type, lower, extent);
  if (!call) return call.error;
  *lower = call->lower();
  *extent = call->extent();
  return MPI_SUCCESS;
}

template <class Number>
int true_extent_of(const char* function, MPI_Datatype type, Number* lower, Number* extent) {
  const TypeCall call(function, type, lower, extent);
  if (!call) return call.error;
  *lower = call->true_lower();
  *extent = call->true_extent();
  return MPI_SUCCESS;
}

/// Returns when each request under way or prepared was kept, in order.
std::vector<std::uint64_t> requests_under_way() {
  const Library& mpi = library();
  std::vector<std::uint64_t> kept;
  mpi.requests.for_each([&](const Request& request) {
    if (!request.is_shared) kept.push_back(request.kept);
  });
  for (const auto& request : mpi.freed_requests) {
    if (!request->done) kept.push_back(request->kept);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

/// Nothing uses it any more: no handle, no other datatype's recipe, no request that may.
bool is_over(const MadeType& type, const std::vector<std::uint64_t>& requests) {
  if (type.handles > 0 || type.uses > 0) return false;
  const auto later = std::upper_bound(requests.begin(), requests.end(), type.made);
  return later == requests.end() || *later > type.freed;
}

void remove_type(int number) {
  Library& mpi = library();
  const auto type = mpi.types.remove(number);
  for (const MPI_Datatype inner : notes_of(*type).recipe.types) {
    if (MadeType* const used = find_made(inner); used != nullptr) --used->uses;
  }
  drop_notes(*type);
}

/// Gives back the memory of freed datatypes that nothing uses, when there are many: a look at all
/// requests costs no more than the frees since the last one.
void reclaim_types() {
  constexpr std::size_t few = 64;
  static std::size_t enough = few;
  Library& mpi = library();
  auto& freed = mpi.freed_types;
  if (freed.size() < enough || !is_alone()) return;
  bool is_expected = false;  // elements, of gets from windows
  mpi.windows.for_each([&](const WindowObject& w) { is_expected |= w.window->expects(); });
  const auto requests = requests_under_way();
  for (bool found = !is_expected; std::exchange(found, false);) {
    std::erase_if(freed, [&](int number) {
      MadeType& type = *mpi.types.find(number);
      if (type.handles > 0) return !(type.is_listed = false);  // MPI_Type_get_contents gave one
      if (!is_over(type, requests)) return false;
      remove_type(number);
      return found = true;
    });
  }
  enough = std::max(few, 2 * freed.size());
}

int refuse_large(const TypeCall& call) {
  return call.fail(&library().world, MPI_ERR_TYPE,
                   "a constructor with counts of 64 bits made the datatype; use the function of "
                   "this name and _c");
}

/// `counts` is null in a call that knows none.
template <class Number>
int envelope(const TypeCall& call, Number* integers, Number* addresses, Number* counts,
             Number* types, int* combiner) {
  if (const int error = call.check_results(integers, addresses, types, combiner)) return error;
  const TypeRecipe& recipe = notes_of(*call).recipe;
  if (counts == nullptr && recipe.is_large) return refuse_large(call);
  *integers = static_cast<Number>(recipe.integers.size());
  *addresses = static_cast<Number>(recipe.addresses.size());
  if (counts != nullptr) *counts = static_cast<Number>(recipe.counts.size());
  *types = static_cast<Number>(recipe.types.size());
  *combiner = recipe.combiner;
  return MPI_SUCCESS;
}

/// The lengths of the arrays that contents are written to.
struct Room {
  MPI_Count integers, addresses, counts, types;
};

int contents(const TypeCall& call, const Room& room, int* integers, MPI_Aint* addresses,
             MPI_Count* counts, MPI_Datatype* types) {
  const TypeRecipe& recipe = notes_of(*call).recipe;
  if (counts == nullptr && recipe.is_large) return refuse_large(call);
  const auto fits = [](MPI_Count length, const auto& values) {
    return length >= 0 && static_cast<std::size_t>(length) >= values.size();
  };
  if (recipe.combiner == MPI_COMBINER_NAMED || !fits(room.integers, recipe.integers) ||
      !fits(room.addresses, recipe.addresses) || !fits(room.counts, recipe.counts) ||
      !fits(room.types, recipe.types)) {
    return call.fail(&library().world, MPI_ERR_ARG,
                     "the datatype is predefined, or an array is too short for its contents");
  }
  std::ranges::copy(recipe.integers, integers);
  std::ranges::copy(recipe.addresses, addresses);
  std::ranges::copy(recipe.counts, counts);
  std::ranges::copy(recipe.types, types);
  for (const MPI_Datatype inner : recipe.types) {  // a handle each, for the program to free
    if (MadeType* const made = find_made(inner); made != nullptr) ++made->handles;
  }
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Type_commit(MPI_Datatype* type) {
  const TypeCall call("MPI_Type_commit", *type);
  if (MadeType* const made = find_made(*type); made != nullptr) made->is_committed = true;
  return call.error;
}

int MPI_Type_free(MPI_Datatype* type) {
  const TypeCall call("MPI_Type_free", *type);
  if (!call) return call.error;
  if (predefined_name(*type)[0] != '\0') {
    return call.fail(&library().world, MPI_ERR_TYPE, "the datatype is predefined");
  }
  MadeType& made = *find_made(*type);
  // Handles of MPI_Type_get_contents are of the same datatype, whose attributes stay for the
  // others.
  if (made.handles <= 1) {
    const int error = type_keys().remove_all(*type, notes_of(*call).attributes);
    if (error != MPI_SUCCESS) return error;
  }
  // Requests under way may use it.
  Library& mpi = library();
  if (made.handles > 0) --made.handles;
  made.freed = mpi.requests.kept();
  if (made.handles == 0 && !std::exchange(made.is_listed, true)) {
    mpi.freed_types.push_back(number_of(*type) - abi::pair_types);
  }
  *type = MPI_DATATYPE_NULL;
  reclaim_types();
  return MPI_SUCCESS;
}

WEFT_MPI_BOTH(MPI_Type_size, size_of)
int MPI_Type_size_x(MPI_Datatype type, MPI_Count* size) {
  return size_of("MPI_Type_size_x", type, size);
}
WEFT_MPI_BOTH(MPI_Type_get_extent, extent_of)
int MPI_Type_get_extent_x(MPI_Datatype type, MPI_Count* lower, MPI_Count* extent) {
  return extent_of("MPI_Type_get_extent_x", type, lower, extent);
}
int MPI_Type_extent(MPI_Datatype type, MPI_Aint* extent) {
  MPI_Aint lower = 0;
  return extent_of("MPI_Type_extent", type, &lower, extent);
}
int MPI_Type_lb(MPI_Datatype type, MPI_Aint* lower) {
  MPI_Aint extent = 0;
  return extent_of("MPI_Type_lb", type, lower, &extent);
}
int MPI_Type_ub(MPI_Datatype type, MPI_Aint* upper) {
  MPI_Aint lower = 0;
  const int error = extent_of("MPI_Type_ub", type, &lower, upper);
  if (error == MPI_SUCCESS) *upper += lower;
  return error;
}

WEFT_MPI_BOTH(MPI_Type_get_true_extent, true_extent_of)
int MPI_Type_get_true_extent_x(MPI_Datatype type, MPI_Count* lower, MPI_Count* extent) {
  return true_extent_of("MPI_Type_get_true_extent_x", type, lower, extent);
}
int MPI_Type_get_envelope(MPI_Datatype type, int* integers, int* addresses, int* types,
                          int* combiner) {
  const TypeCall call("MPI_Type_get_envelope", type);
  return call ? envelope<int>(call, integers, addresses, nullptr, types, combiner) : call.error;
}
int MPI_Type_get_envelope_c(MPI_Datatype type, MPI_Count* integers, MPI_Count* addresses,
                            MPI_Count* counts, MPI_Count* types, int* combiner) {
  const TypeCall call("MPI_Type_get_envelope_c", type);
  return call ? envelope(call, integers, addresses, counts, types, combiner) : call.error;
}

int MPI_Type_get_contents(MPI_Datatype type, int integers, int addresses, int types,
                          int* integer_values, MPI_Aint* address_values,
                          MPI_Datatype* type_values) {
  const TypeCall call("MPI_Type_get_contents", type);
  if (!call) return call.error;
  return contents(call, {integers, addresses, 0, types}, integer_values, address_values, nullptr,
                  type_values);
}
int MPI_Type_get_contents_c(MPI_Datatype type, MPI_Count integers, MPI_Count addresses,
                            MPI_Count counts, MPI_Count types, int* integer_values,
                            MPI_Aint* address_values, MPI_Count* count_values,
                            MPI_Datatype* type_values) {
  const TypeCall call("MPI_Type_get_contents_c", type);
  if (!call) return call.error;
  return contents(call, {integers, addresses, counts, types}, integer_values, address_values,
                  count_values, type_values);
}

int MPI_Type_set_name(MPI_Datatype type, const char* name) {
  const TypeCall call("MPI_Type_set_name", type);
  if (call) notes_of(*call).name = name;
  return call.error;
}

int MPI_Type_get_name(MPI_Datatype type, char* name, int* length) {
  const TypeCall call("MPI_Type_get_name", type);
  if (!call) return call.error;
  const std::string& own = notes_of(*call).name;
  copy_text(own.empty() ? predefined_name(type) : own, MPI_MAX_OBJECT_NAME, name, length);
  return MPI_SUCCESS;
}

int MPI_Type_match_size(int kind, int size, MPI_Datatype* type) {
  const bool is_real = kind == MPI_TYPECLASS_REAL;
  const bool is_integer = kind == MPI_TYPECLASS_INTEGER;
  const bool is_complex = kind == MPI_TYPECLASS_COMPLEX;
  *type = MPI_DATATYPE_NULL;
  if (is_real && size == 4) *type = MPI_REAL4;
  if (is_real && size == 8) *type = MPI_REAL8;
  if (is_real && size == 16) *type = MPI_REAL16;
  if (is_integer && size == 1) *type = MPI_INTEGER1;
  if (is_integer && size == 2) *type = MPI_INTEGER2;
  if (is_integer && size == 4) *type = MPI_INTEGER4;
  if (is_integer && size == 8) *type = MPI_INTEGER8;
  if (is_complex && size == 8) *type = MPI_COMPLEX8;
  if (is_complex && size == 16) *type = MPI_COMPLEX16;
  if (is_complex && size == 32) *type = MPI_COMPLEX32;
  if (*type != MPI_DATATYPE_NULL) return MPI_SUCCESS;
  return Call{"MPI_Type_match_size"}.fail(&library().world, MPI_ERR_ARG,
                                          "no datatype of that class has {} bytes", size);
}

int MPI_Get_address(const void* location, MPI_Aint* address) {
  *address = reinterpret_cast<MPI_Aint>(location);
  return MPI_SUCCESS;
}

int MPI_Address(void* location, MPI_Aint* address) {
  return MPI_Get_address(location, address);
}

MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint displacement) {
  return base + displacement;
}

MPI_Aint MPI_Aint_diff(MPI_Aint a, MPI_Aint b) {
  return a - b;
}
