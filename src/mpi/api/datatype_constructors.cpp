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
#include "mpi/api/type_bounds.hpp"

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

namespace {

/// Of a predefined datatype, or one that has its numbers.
TypeFacts facts_of_numbers(const Datatype& type) {
  const Basic basic = type.basic();
  const std::uint64_t elements = basic >= Basic::pair_int_int ? 2 : 1;
  return {.alignment = std::max<std::uint64_t>(shape_of(basic).alignment, 1),
          .elements = type.size() == 0 ? 0 : elements,
          .has_set_lower = basic == Basic::lower_bound,
          .has_set_upper = basic == Basic::upper_bound};
}

}  // namespace

TypeFacts facts_of(const Datatype& type) {
  const TypeNotes& notes = notes_of(type);
  return notes.recipe.combiner == MPI_COMBINER_NAMED ? facts_of_numbers(type) : notes.facts;
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

TypeFacts TypeMaker::facts(const Datatype& type) const {
  if (recipe.types.empty()) return facts_of_numbers(type);  // it is Fortran's, or has no members
  TypeFacts all;
  for (std::size_t i = 0; i < recipe.types.size(); ++i) {
    int none = MPI_SUCCESS;
    const Datatype& inner = *call.type(recipe.types[i], none);
    const TypeFacts part = facts_of(inner);
    const std::uint64_t times = recipe.combiner == MPI_COMBINER_STRUCT ? recipe.block_length(i)
                                : inner.size() == 0                    ? 0
                                                                       : type.size() / inner.size();
    all.alignment = std::max(all.alignment, part.alignment);
    all.elements += times * part.elements;
    all.has_set_lower |= part.has_set_lower;
    all.has_set_upper |= part.has_set_upper;
  }
  const bool has_elements = type.size() > 0 || type.extent() != 0 || type.lower() != 0;
  const bool sets_bounds = recipe.combiner == MPI_COMBINER_RESIZED ||
                           recipe.combiner == MPI_COMBINER_SUBARRAY ||
                           recipe.combiner == MPI_COMBINER_DARRAY;
  all.has_set_lower = sets_bounds || (all.has_set_lower && has_elements);
  all.has_set_upper = sets_bounds || (all.has_set_upper && has_elements);
  return all;
}

int TypeMaker::make(Datatype type, const TypeBounds* bounds, MPI_Datatype* made) {
  if ((error = call.check_results(made)) != MPI_SUCCESS) return error;
  auto kept = std::make_unique<MadeType>(std::move(type));
  kept->made = library().requests.kept();
  for (const MPI_Datatype inner : recipe.types) {
    if (MadeType* const used = find_made(inner); used != nullptr) ++used->uses;
  }
  TypeFacts found = facts(*kept);
  if (bounds != nullptr) bounds->apply_to(found);
  notes_of(*kept) = {.recipe = std::move(recipe), .name = {}, .attributes = {}, .facts = found};
  *made = handle_of(abi::made_type, library().types.add(std::move(kept)) + abi::pair_types);
  return MPI_SUCCESS;
}

int TypeMaker::make(Datatype type, MPI_Datatype* made) {
  return make(std::move(type), nullptr, made);
}

int TypeMaker::make(std::span<const Block> blocks, MPI_Datatype* made) {
  if constexpr (!abi::pads_all) return make(Datatype(blocks), made);
  return make(blocks, TypeBounds(blocks), made);
}

int TypeMaker::make(std::span<const Block> blocks, const TypeBounds& bounds, MPI_Datatype* made) {
  return make(bounds.apply_to(Datatype(blocks)), &bounds, made);
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
  if constexpr (abi::pads_all) {
    TypeBounds block, all;
    block.add(TypeBounds(*old), elements, 0, old->extent());
    all.add(block, elements > 0 ? places : 0, 0, step);
    return maker.make(blocks, all, made);
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

/// Compilers pad a struct, so that the next one in an array is aligned.
Datatype padded(const Datatype& type, std::uint64_t alignment) {
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
  std::uint64_t alignment = 1;               // of those that have elements
  std::optional<std::int64_t> lower, upper;  // as MPI-1's programs set them
  TypeBounds bounds;                         // where the ABI has its own
  for (std::size_t i = 0; i < natural(count); ++i) {
    const Datatype* const old = maker.old(types[i]);
    if (old == nullptr || !maker.check_count(lengths[i])) return maker.error;
    const std::uint64_t length = natural(lengths[i]);
    if constexpr (abi::pads_all) bounds.add_member(*old, length, displacements[i]);
    const TypeFacts facts = facts_of(*old);
    if (length > 0) alignment = std::max(alignment, facts.alignment);
    if (old->basic() == Basic::lower_bound) {
      lower = displacements[i];
    } else if (old->basic() == Basic::upper_bound) {
      upper = displacements[i];
    } else if (length > 0) {
      blocks.push_back({length, displacements[i], old});
      if (facts.has_set_bounds()) bounded.push_back(blocks.back());
    }
  }
  if constexpr (abi::pads_all) return maker.make(blocks, bounds, made);
  Datatype all(blocks);
  if (bounded.empty() || bounded.size() < blocks.size()) all = padded(all, alignment);
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
