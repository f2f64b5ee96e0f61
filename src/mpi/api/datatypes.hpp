// SPDX-License-Identifier: Apache-2.0
// What the library records about a datatype besides its layout, and how constructors make one. The
// lock of the library admits one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/api/integers.hpp"
#include "mpi/api/library.hpp"

namespace weft::mpi {

class TypeBounds;

/// The constructor of a datatype and its arguments, in the order of MPI_Type_get_contents_c.
struct TypeRecipe {
  int combiner = MPI_COMBINER_NAMED;
  bool is_large = false;  ///< the constructor has counts of 64 bits
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;  ///< all counts and displacements of a large one
  std::vector<MPI_Datatype> types;

  /// The length of a struct's i-th block. The number of blocks comes before.
  std::uint64_t block_length(std::size_t i) const {
    return static_cast<std::uint64_t>(is_large ? counts[i + 1] : integers[i + 1]);
  }
};

/// What follows for a datatype from all that it is made of. It is found once: a datatype may
/// contain another one by more ways than there is time to go.
struct TypeFacts {
  std::uint64_t alignment = 1;  ///< the largest of its numbers
  std::uint64_t elements = 0;   ///< MPI's basic elements in one of it, the entries of its type map
  // The program set that bound of it, or of something that it is made of.
  bool has_set_lower = false;
  bool has_set_upper = false;

  bool has_set_bounds() const { return has_set_lower || has_set_upper; }
};

/// What the library records about a datatype besides its layout.
struct TypeNotes {
  TypeRecipe recipe;
  std::string name;
  Attributes attributes;
  TypeFacts facts;  ///< unless it is predefined: `facts_of` knows both
};

/// Returns the notes of a datatype, predefined or not; they are valid until `drop_notes`.
TypeNotes& notes_of(const Datatype& type);
void drop_notes(const Datatype& type);
TypeFacts facts_of(const Datatype& type);
/// Returns the datatype that the program made. The library owns it. Null: the handle is of a
/// predefined datatype, or of none.
MadeType* find_made(MPI_Datatype handle);

/// Checks the arguments of a constructor, records them, and makes the datatype.
struct TypeMaker {
  Call call;
  int error = MPI_SUCCESS;
  TypeRecipe recipe;

  TypeMaker(const char* function, int combiner) : call{function} {
    recipe.combiner = combiner;
    recipe.is_large = std::string_view(function).ends_with("_c");
  }
  bool ok() const { return error == MPI_SUCCESS; }
  /// Records an old datatype and returns it; null after an error.
  const Datatype* old(MPI_Datatype handle);
  /// Sets `error` and returns false when the count is negative.
  bool check_count(std::int64_t count);
  /// The same, also when one of the arrays of so many elements is a null pointer.
  template <class... Arrays>
  bool check_count(std::int64_t count, const Arrays&... arrays) {
    if (check_count(count)) error = call.check_arrays(count, nullptr, arrays...);
    return ok();
  }
  /// The same when so many blocks of that length have more pieces than this host has memory for.
  bool check_room(std::uint64_t blocks, std::uint64_t length, const Datatype& type);
  /// Records an argument that has 32 bits in both kinds of constructors.
  void note_integer(int value) { recipe.integers.push_back(value); }
  void note(std::int64_t value) {
    if (recipe.is_large) return recipe.counts.push_back(value);
    note_integer(static_cast<int>(value));
  }
  void note(Integers values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) note(values[static_cast<std::size_t>(i)]);
  }
  void note_address(std::int64_t value) {
    if (recipe.is_large) return recipe.counts.push_back(value);
    recipe.addresses.push_back(value);
  }
  /// Makes the datatype, stores its handle in `*made`, and returns MPI's error code.
  int make(std::span<const Block> blocks, MPI_Datatype* made);
  int make(Datatype type, MPI_Datatype* made);
  /// The same with those bounds, where the ABI pads every datatype.
  int make(std::span<const Block> blocks, const TypeBounds& bounds, MPI_Datatype* made);
  /// The same of a duplicate of the one old datatype, without its attributes: no function of the
  /// program runs.
  int make_duplicate(const Datatype& old, MPI_Datatype* made);

 private:
  int make(Datatype type, const TypeBounds* bounds, MPI_Datatype* made);
  TypeFacts facts(const Datatype& type) const;
};

}  // namespace weft::mpi
