// SPDX-License-Identifier: Apache-2.0
// The chapter on I/O: representations of data in files, also those of the program's own.
#include "mpi/api/representations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mpi/api/datatypes.hpp"
#include "mpi/api/external.hpp"
#include "mpi/api/files.hpp"

namespace weft::mpi {
namespace {

class External32 final : public Representation {
 public:
  bool keeps_layout(const Call& call, MPI_Datatype type) const override {
    return ExternalLayout(call, type, 1).keeps_sizes();
  }
  int measure(const Call& call, MPI_Datatype type, MPI_Aint& bytes) const override {
    bytes = static_cast<MPI_Aint>(ExternalLayout(call, type, 1).outside());
    return MPI_SUCCESS;
  }
  int write(const FileElements& elements, void* memory, std::span<std::byte> file) const override {
    const ExternalLayout layout(elements.call, elements.handle, elements.count);
    std::vector<std::byte> packed(layout.inside());
    elements.type.pack(memory, elements.count, packed.data());
    layout.to_external(packed.data(), file.data());
    return MPI_SUCCESS;
  }
  int read(const FileElements& elements, std::span<std::byte>& file, void* memory,
           std::uint64_t& bytes) const override {
    const ExternalLayout layout(elements.call, elements.handle, elements.count);
    std::vector<std::byte> packed(layout.inside());
    bytes = layout.from_external(file, packed.data());
    elements.type.unpack(std::span(packed).first(bytes), memory);
    return MPI_SUCCESS;
  }
};

/// That of functions of the program's.
struct OwnRepresentation final : Representation {
  /// Null: the elements lie in files as in memory, but without gaps.
  using Convert = std::function<int(void*, MPI_Datatype, std::uint64_t, void*)>;
  Convert to_memory, to_file;
  MPI_Datarep_extent_function* extent = nullptr;
  void* state = nullptr;

  bool keeps_layout(const Call&, MPI_Datatype) const override { return false; }
  int measure(const Call&, MPI_Datatype type, MPI_Aint& bytes) const override {
    return extent(type, &bytes, state) == MPI_SUCCESS && bytes >= 0 ? MPI_SUCCESS
                                                                    : MPI_ERR_CONVERSION;
  }
  int write(const FileElements& e, void* memory, std::span<std::byte> file) const override {
    if (to_file) return convert(to_file, e, memory, e.count, file.data());
    if (file.size() != e.count * e.type.size()) return MPI_ERR_CONVERSION;
    e.type.pack(memory, e.count, file.data());
    return MPI_SUCCESS;
  }
  int read(const FileElements& e, std::span<std::byte>& file, void* memory,
           std::uint64_t& bytes) const override {
    Datatype in_file(Basic::bytes);
    if (const int error = make_file_type(e.call, *this, e.handle, in_file)) return error;
    // An element that the file has in part stays in the file.
    const std::uint64_t whole = in_file.size() == 0 ? 0 : file.size() / in_file.size();
    bytes = whole * e.type.size();
    file = file.first(whole * in_file.size());
    if (to_memory) return convert(to_memory, e, memory, whole, file.data());
    if (in_file.size() != e.type.size()) return MPI_ERR_CONVERSION;
    e.type.unpack(file.first(bytes), memory);
    return MPI_SUCCESS;
  }

 private:
  static int convert(const Convert& function, const FileElements& e, void* memory,
                     std::uint64_t count, void* file) {
    if (count == 0) return MPI_SUCCESS;
    // The standard's count is that of entries of the type map, not of whole elements.
    return function(memory, e.handle, count * facts_of(e.type).elements, file) == MPI_SUCCESS
               ? MPI_SUCCESS
               : MPI_ERR_CONVERSION;
  }
};

using Representations = std::map<std::string, std::unique_ptr<Representation>, std::less<>>;
Representations& representations() {
  static auto* const all = [] {
    auto* const made = new Representations;
    // MPICH and Open MPI take the names in capitals, too.
    for (const char* const name : {"native", "NATIVE", "internal", "INTERNAL"}) {
      (*made)[name] = nullptr;
    }
    for (const char* const name : {"external32", "EXTERNAL32"}) {
      (*made)[name] = std::make_unique<External32>();
    }
    return made;
  }();
  return *all;
}

template <class Count, class Function>
OwnRepresentation::Convert converter(Function* function, void* state) {
  if (function == nullptr) return nullptr;
  return
      [function, state](void* memory, MPI_Datatype type, std::uint64_t count, void* file) -> int {
        if (count > static_cast<std::uint64_t>(std::numeric_limits<Count>::max()))
          return MPI_ERR_COUNT;
        return function(memory, type, static_cast<Count>(count), file, 0, state);
      };
}

template <class Count, class Function>
int add_representation(const char* name, const char* representation, Function* read,
                       Function* write, MPI_Datarep_extent_function* extent, void* state) {
  const Call call{name};
  if (const int error = call.check_results(representation)) return error;
  const auto refuse = [&](int code, const std::string& what) {
    return call.result(no_file().fail(call, code, what));
  };
  const std::string own = representation;
  if (extent == nullptr || own.empty() || own.size() >= MPI_MAX_DATAREP_STRING) {
    return refuse(MPI_ERR_ARG, fmt::format("'{}' needs a function that tells extents, and a name "
                                           "of 1 to {} bytes",
                                           own, MPI_MAX_DATAREP_STRING - 1));
  }
  auto made = std::make_unique<OwnRepresentation>();
  made->to_memory = converter<Count>(read, state);
  made->to_file = converter<Count>(write, state);
  made->extent = extent;
  made->state = state;
  if (representations().try_emplace(own, std::move(made)).second) return MPI_SUCCESS;
  return refuse(MPI_ERR_DUP_DATAREP, fmt::format("'{}' is there already; take another name", own));
}

/// The arguments of a constructor, in its order, whatever their bits.
std::vector<MPI_Count> arguments_of(const TypeRecipe& recipe) {
  std::vector<MPI_Count> all(recipe.integers.begin(), recipe.integers.end());
  all.insert(all.end(), recipe.addresses.begin(), recipe.addresses.end());
  all.insert(all.end(), recipe.counts.begin(), recipe.counts.end());
  // Counts of arrays lie between integers.
  const auto of_array = [&](std::ptrdiff_t before) {
    const auto counts = static_cast<std::ptrdiff_t>(recipe.counts.size());
    std::rotate(all.begin() + before, all.end() - counts, all.end());
  };
  if (recipe.combiner == MPI_COMBINER_SUBARRAY) of_array(1);
  if (recipe.combiner == MPI_COMBINER_DARRAY) of_array(3);
  return all;
}

int make_darray(const std::vector<MPI_Count>& a, MPI_Datatype type, MPI_Datatype* made) {
  const auto d = static_cast<std::size_t>(a[2]);
  const std::vector<int> lists(a.begin() + 3 + static_cast<std::ptrdiff_t>(d), a.end());
  return MPI_Type_create_darray_c(static_cast<int>(a[0]), static_cast<int>(a[1]),
                                  static_cast<int>(d), &a[3], lists.data(), &lists[d],
                                  &lists[2 * d], lists[3 * d], type, made);
}

/// The datatype of that recipe, of other parts.
int remake(const TypeRecipe& recipe, const std::vector<MPI_Datatype>& parts, MPI_Datatype* made) {
  const std::vector<MPI_Count> a = arguments_of(recipe);
  const MPI_Datatype part = parts.front();
  switch (recipe.combiner) {
    case MPI_COMBINER_CONTIGUOUS:
      return MPI_Type_contiguous_c(a[0], part, made);
    case MPI_COMBINER_VECTOR:
      return MPI_Type_vector_c(a[0], a[1], a[2], part, made);
    case MPI_COMBINER_HVECTOR:
      return MPI_Type_create_hvector_c(a[0], a[1], a[2], part, made);
    case MPI_COMBINER_INDEXED:
      return MPI_Type_indexed_c(a[0], a.data() + 1, a.data() + 1 + a[0], part, made);
    case MPI_COMBINER_HINDEXED:
      return MPI_Type_create_hindexed_c(a[0], a.data() + 1, a.data() + 1 + a[0], part, made);
    case MPI_COMBINER_INDEXED_BLOCK:
      return MPI_Type_create_indexed_block_c(a[0], a[1], a.data() + 2, part, made);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return MPI_Type_create_hindexed_block_c(a[0], a[1], a.data() + 2, part, made);
    case MPI_COMBINER_STRUCT:
      return MPI_Type_create_struct_c(a[0], a.data() + 1, a.data() + 1 + a[0], parts.data(), made);
    case MPI_COMBINER_RESIZED:
      return MPI_Type_create_resized_c(part, a[0], a[1], made);
    case MPI_COMBINER_SUBARRAY:
      return MPI_Type_create_subarray_c(static_cast<int>(a[0]), &a[1], &a[1] + a[0],
                                        &a[1] + 2 * a[0], static_cast<int>(a.back()), part, made);
    case MPI_COMBINER_DARRAY:
      return make_darray(a, part, made);
    default:  // a duplicate
      return MPI_Type_contiguous_c(1, part, made);
  }
}

/// Sets `made` to a handle, which the caller frees unless it is predefined.
int make_handle(const Call& call, const Representation& representation, MPI_Datatype type,
                MPI_Datatype& made) {
  int error = MPI_SUCCESS;
  const Datatype& in_memory = *call.type(type, error);
  const TypeRecipe recipe = notes_of(in_memory).recipe;
  if (recipe.types.empty()) {
    MPI_Aint bytes = 0;
    made = type;
    if (in_memory.size() == 0) return MPI_SUCCESS;  // such as a bound
    if ((error = representation.measure(call, type, bytes)) != MPI_SUCCESS) return error;
    return MPI_Type_contiguous_c(bytes, MPI_BYTE, &made);
  }
  std::vector<MPI_Datatype> parts;
  for (const MPI_Datatype inner : recipe.types) {
    parts.push_back(inner);
    if (error == MPI_SUCCESS) error = make_handle(call, representation, inner, parts.back());
  }
  if (error == MPI_SUCCESS) error = remake(recipe, parts, &made);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] != recipe.types[i]) (void)MPI_Type_free(&parts[i]);
  }
  return error;
}

}  // namespace

bool find_representation(std::string_view name, const Representation*& found) {
  const auto place = representations().find(name);
  found = place != representations().end() ? place->second.get() : nullptr;
  return place != representations().end();
}

int make_file_type(const Call& call, const Representation& representation, MPI_Datatype type,
                   Datatype& made) {
  int error = MPI_SUCCESS;
  if (representation.keeps_layout(call, type)) {
    made = *call.type(type, error);
    return error;
  }
  MPI_Datatype handle = type;
  if ((error = make_handle(call, representation, type, handle)) != MPI_SUCCESS) return error;
  made = *call.type(handle, error);
  if (handle != type) (void)MPI_Type_free(&handle);
  return error;
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Register_datarep(const char* representation, MPI_Datarep_conversion_function* read,
                         MPI_Datarep_conversion_function* write,
                         MPI_Datarep_extent_function* extent, void* state) {
  return add_representation<int>("MPI_Register_datarep", representation, read, write, extent,
                                 state);
}
int MPI_Register_datarep_c(const char* representation, MPI_Datarep_conversion_function_c* read,
                           MPI_Datarep_conversion_function_c* write,
                           MPI_Datarep_extent_function* extent, void* state) {
  return add_representation<MPI_Count>("MPI_Register_datarep_c", representation, read, write,
                                       extent, state);
}
