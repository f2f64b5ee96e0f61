// SPDX-License-Identifier: Apache-2.0
// The constructors of the chapter on datatypes.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "mpi/api/counted.hpp"
#include "mpi/api/datatypes.hpp"

namespace weft::mpi {

namespace {

std::unordered_map<const Datatype*, TypeNotes>& all_notes() {
  static auto* const notes = new std::unordered_map<const Datatype*, TypeNotes>;
  return *notes;
}

}  // namespace

TypeNotes& notes_of(const Datatype& type) {
  return all_notes()[&type];
}
void drop_notes(const Datatype& type) {
  all_notes().erase(&type);
}

MadeType* find_made(MPI_Datatype handle) {
  if (!is_of(abi::made_type, handle)) return nullptr;
  return library().types.find(number_of(handle) - abi::pair_types);
}

const Datatype* TypeMaker::old(MPI_Datatype handle) {
  if (!ok()) return nullptr;
  const Datatype* const found = call.type(handle, error);
  if (found != nullptr) recipe.types.push_back(handle);
  return found;
}

bool TypeMaker::check_count(std::int64_t count) {
  if (!ok() || count >= 0) return ok();
  error = call.fail(&library().world, MPI_ERR_COUNT, "the count is {}", count);
  return false;
}

bool TypeMaker::check_room(std::uint64_t blocks, std::uint64_t length, const Datatype& type) {
  // In floating point, where no product overflows.
  const double per_block =
      type.is_contiguous() ? 1.0
                           : static_cast<double>(length) * static_cast<double>(type.runs().size());
  const double pieces = static_cast<double>(blocks) * per_block;
  const double bytes = pieces * sizeof(Run) + static_cast<double>(blocks) * sizeof(Block);
  const double memory =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (!ok() || bytes <= memory) return ok();
  error =
      call.fail(&library().world, MPI_ERR_NO_MEM,
                "the datatype has {:.0f} pieces, which take {:.0f} GiB, more than the memory of "
                "this host; use fewer or longer blocks",
                pieces, bytes / (1 << 30));
  return false;
}

int TypeMaker::make(Datatype type, MPI_Datatype* made) {
  if ((error = call.check_results(made)) != MPI_SUCCESS) return error;
  auto kept = std::make_unique<MadeType>(std::move(type));
  kept->made = library().requests.kept();
  for (const MPI_Datatype inner : recipe.types) {
    if (MadeType* const used = find_made(inner); used != nullptr) ++used->uses;
  }
  notes_of(*kept) = {.recipe = std::move(recipe), .name = {}, .attributes = {}};
  *made = handle_of(abi::made_type, library().types.add(std::move(kept)) + abi::pair_types);
  return MPI_SUCCESS;
}

int TypeMaker::make(std::span<const Block> blocks, MPI_Datatype* made) {
  return make(Datatype(blocks), made);
}

int TypeMaker::make_duplicate(const Datatype& old, MPI_Datatype* made) {
  const MadeType* const original = find_made(recipe.types.front());
  const bool is_committed = original == nullptr || original->is_committed;
  if (make(old, made) == MPI_SUCCESS) find_made(*made)->is_committed = is_committed;
  return error;
}

namespace {

constexpr bool in_bytes = true;
constexpr bool in_elements = false;

std::uint64_t natural(std::int64_t count) {
  return static_cast<std::uint64_t>(count);
}

int contiguous(const char* function, std::int64_t count, MPI_Datatype type, MPI_Datatype* made) {
  TypeMaker maker(function, MPI_COMBINER_CONTIGUOUS);
  const Datatype* const old = maker.old(type);
  if (old == nullptr || !maker.check_count(count)) return maker.error;
  if (!maker.check_room(1, natural(count), *old)) return maker.error;
  maker.note(count);
  const Block block{natural(count), 0, old};
  return maker.make({&block, 1}, made);
}

int vector(const char* function, bool stride_in_bytes, std::int64_t count, std::int64_t length,
           std::int64_t stride, MPI_Datatype type, MPI_Datatype* made) {
  TypeMaker maker(function, stride_in_bytes ? MPI_COMBINER_HVECTOR : MPI_COMBINER_VECTOR);
  const Datatype* const old = maker.old(type);
  if (old == nullptr || !maker.check_count(count) || !maker.check_count(length)) {
    return maker.error;
  }
  maker.note(count);
  maker.note(length);
  stride_in_bytes ? maker.note_address(stride) : maker.note(stride);
  const std::int64_t step = stride_in_bytes ? stride : stride * old->extent();
  // Blocks one behind the other are one, of any length.
  const bool is_one = count > 0 && step == length * old->extent();
  const std::uint64_t places = is_one ? 1 : natural(count);
  const std::uint64_t elements = is_one ? natural(count) * natural(length) : natural(length);
  if (!maker.check_room(places, elements, *old)) return maker.error;
  std::vector<Block> blocks;
  blocks.reserve(places);
  for (std::uint64_t i = 0; i < places; ++i) {
    blocks.push_back({elements, static_cast<std::int64_t>(i) * step, old});
  }
  return maker.make(blocks, made);
}

void note_displacements(TypeMaker& maker, bool are_bytes, Integers displacements,
                        std::int64_t count) {
  if (!are_bytes) return maker.note(displacements, count);
  for (std::int64_t i = 0; i < count; ++i) maker.note_address(displacements[natural(i)]);
}

int indexed(const char* function, bool are_bytes, std::int64_t count, Integers lengths,
            Integers displacements, MPI_Datatype type, MPI_Datatype* made) {
  TypeMaker maker(function, are_bytes ? MPI_COMBINER_HINDEXED : MPI_COMBINER_INDEXED);
  const Datatype* const old = maker.old(type);
  if (old == nullptr || !maker.check_count(count, lengths, displacements)) return maker.error;
  maker.note(count);
  maker.note(lengths, count);
  note_displacements(maker, are_bytes, displacements, count);
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < natural(count); ++i) {
    if (!maker.check_count(lengths[i])) return maker.error;
    blocks.push_back(
        {natural(lengths[i]), displacements[i] * (are_bytes ? 1 : old->extent()), old});
  }
  return maker.make(blocks, made);
}

int indexed_block(const char* function, bool are_bytes, std::int64_t count, std::int64_t length,
                  Integers displacements, MPI_Datatype type, MPI_Datatype* made) {
  TypeMaker maker(function, are_bytes ? MPI_COMBINER_HINDEXED_BLOCK : MPI_COMBINER_INDEXED_BLOCK);
  const Datatype* const old = maker.old(type);
  if (old == nullptr || !maker.check_count(count, displacements) || !maker.check_count(length)) {
    return maker.error;
  }
  maker.note(count);
  maker.note(length);
  note_displacements(maker, are_bytes, displacements, count);
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < natural(count); ++i) {
    blocks.push_back({natural(length), displacements[i] * (are_bytes ? 1 : old->extent()), old});
  }
  return maker.make(blocks, made);
}

/// The largest of the numbers that a datatype is made of.
std::uint64_t alignment_of(const Call& call, MPI_Datatype handle) {
  int error = MPI_SUCCESS;
  const Datatype* const type = call.type(handle, error);
  if (type == nullptr) return 1;
  const TypeRecipe& recipe = notes_of(*type).recipe;
  switch (recipe.combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:  // one number, whose recipe has no datatypes
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
      return shape_of(type->basic()).alignment;
    default:
      break;
  }
  std::uint64_t largest = 1;
  for (const MPI_Datatype inner : recipe.types) {
    largest = std::max(largest, alignment_of(call, inner));
  }
  return largest;
}

/// The program set bounds of the datatype, or of one that it is made of.
bool has_set_bounds(const Call& call, MPI_Datatype handle) {
  int error = MPI_SUCCESS;
  const Datatype* const type = call.type(handle, error);
  if (type == nullptr) return false;
  const TypeRecipe& recipe = notes_of(*type).recipe;
  const bool has_elements = type->size() > 0 || type->extent() != 0 || type->lower() != 0;
  switch (recipe.combiner) {
    case MPI_COMBINER_NAMED:
      return type->basic() == Basic::lower_bound || type->basic() == Basic::upper_bound;
    case MPI_COMBINER_RESIZED:
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
      return true;
    default:
      return has_elements && std::ranges::any_of(recipe.types, [&](MPI_Datatype inner) {
               return has_set_bounds(call, inner);
             });
  }
}

/// Compilers pad a struct, so that the next one in an array is aligned.
Datatype padded(const Call& call, const Datatype& type, std::span<const MPI_Datatype> members) {
  std::uint64_t alignment = 1;
  for (const MPI_Datatype member : members) {
    alignment = std::max(alignment, alignment_of(call, member));
  }
  const auto step = static_cast<std::int64_t>(alignment);
  const std::int64_t rest = type.extent() % step;
  return rest > 0 ? type.resized(type.lower(), type.extent() + step - rest) : type;
}

int structure(const char* function, std::int64_t count, Integers lengths, Integers displacements,
              const MPI_Datatype* types, MPI_Datatype* made) {
  TypeMaker maker(function, MPI_COMBINER_STRUCT);
  if (!maker.check_count(count, lengths, displacements, types)) return maker.error;
  maker.note(count);
  maker.note(lengths, count);
  note_displacements(maker, in_bytes, displacements, count);
  std::vector<Block> blocks, bounded;        // the latter: those whose bounds the program set
  std::vector<MPI_Datatype> members;         // those that have elements
  std::optional<std::int64_t> lower, upper;  // as MPI-1's programs set them
  for (std::size_t i = 0; i < natural(count); ++i) {
    const Datatype* const old = maker.old(types[i]);
    if (old == nullptr || !maker.check_count(lengths[i])) return maker.error;
    if (lengths[i] > 0) members.push_back(types[i]);
    if (old->basic() == Basic::lower_bound) {
      lower = displacements[i];
    } else if (old->basic() == Basic::upper_bound) {
      upper = displacements[i];
    } else if (lengths[i] > 0) {
      blocks.push_back({natural(lengths[i]), displacements[i], old});
      if (has_set_bounds(maker.call, types[i])) bounded.push_back(blocks.back());
    }
  }
  Datatype all(blocks);
  if (!bounded.empty() && (abi::bounds_stick || bounded.size() == blocks.size())) {
    const Datatype within(bounded);
    all = all.resized(within.lower(), within.extent());
  } else {
    all = padded(maker.call, all, members);
  }
  if (lower || upper) {
    const std::int64_t begin = lower.value_or(all.lower());
    all = all.resized(begin, upper.value_or(all.lower() + all.extent()) - begin);
  }
  return maker.make(std::move(all), made);
}

int resized(const char* function, MPI_Datatype type, std::int64_t lower, std::int64_t extent,
            MPI_Datatype* made) {
  TypeMaker maker(function, MPI_COMBINER_RESIZED);
  const Datatype* const old = maker.old(type);
  if (old == nullptr) return maker.error;
  maker.note_address(lower);
  maker.note_address(extent);
  return maker.make(old->resized(lower, extent), made);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

WEFT_MPI_BOTH(MPI_Type_contiguous, contiguous)
WEFT_MPI_BOTH(MPI_Type_vector, vector, in_elements)
WEFT_MPI_BOTH(MPI_Type_create_hvector, vector, in_bytes)
int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype type,
                     MPI_Datatype* made) {
  return vector("MPI_Type_hvector", in_bytes, count, length, stride, type, made);
}

WEFT_MPI_BOTH(MPI_Type_indexed, indexed, in_elements)
WEFT_MPI_BOTH(MPI_Type_create_hindexed, indexed, in_bytes)
int MPI_Type_hindexed(int count, int* lengths, MPI_Aint* displacements, MPI_Datatype type,
                      MPI_Datatype* made) {
  return indexed("MPI_Type_hindexed", in_bytes, count, lengths, displacements, type, made);
}

WEFT_MPI_BOTH(MPI_Type_create_indexed_block, indexed_block, in_elements)
WEFT_MPI_BOTH(MPI_Type_create_hindexed_block, indexed_block, in_bytes)
WEFT_MPI_BOTH(MPI_Type_create_struct, structure)
int MPI_Type_struct(int count, int* lengths, MPI_Aint* displacements, MPI_Datatype* types,
                    MPI_Datatype* made) {
  return structure("MPI_Type_struct", count, lengths, displacements, types, made);
}

WEFT_MPI_BOTH(MPI_Type_create_resized, resized)
int MPI_Type_dup(MPI_Datatype type, MPI_Datatype* made) {
  TypeMaker maker("MPI_Type_dup", MPI_COMBINER_DUP);
  const Datatype* const old = maker.old(type);
  if (old == nullptr) return maker.error;
  if (const int none = maker.call.check_results(made); none != MPI_SUCCESS) return none;
  *made = MPI_DATATYPE_NULL;
  Attributes copied;
  const int error = type_keys().copy_all(type, notes_of(*old).attributes, copied);
  if (error != MPI_SUCCESS) return error;
  (void)maker.make_duplicate(*old, made);
  notes_of(*maker.call.type(*made, maker.error)).attributes = std::move(copied);
  return MPI_SUCCESS;
}
