// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/type_bounds.hpp"

#include <algorithm>

namespace weft::mpi {

TypeBounds::TypeBounds(const Datatype& type)
    : lower_(type.lower()), upper_(type.lower() + type.extent()) {
  const TypeFacts facts = facts_of(type);
  alignment_ = static_cast<std::int64_t>(facts.alignment);
  has_set_lower_ = facts.has_set_lower;
  has_set_upper_ = facts.has_set_upper;
}

TypeBounds::TypeBounds(std::span<const Block> blocks) {
  const Datatype* latest = nullptr;
  TypeBounds element;
  for (const Block& block : blocks) {
    if (block.type != latest) element = TypeBounds(*block.type);
    latest = block.type;
    add(element, block.count, block.displacement, latest->extent());
  }
}

void TypeBounds::add(const TypeBounds& element, std::uint64_t count, std::int64_t displacement,
                     std::int64_t step) {
  if (count == 0) return;
  const std::int64_t last = static_cast<std::int64_t>(count - 1) * step;
  const std::int64_t low = displacement + element.lower() + std::min<std::int64_t>(last, 0);
  const std::int64_t high = displacement + element.upper() + std::max<std::int64_t>(last, 0);
  if (element.has_set_lower_ == has_set_lower_) {
    lower_ = std::min(lower_, low);
  } else if (!has_set_lower_) {
    lower_ = low;
  }
  if (element.has_set_upper_ == has_set_upper_) {
    upper_ = std::max(upper_, high);
  } else if (!has_set_upper_) {
    upper_ = high;
  }
  has_set_lower_ |= element.has_set_lower_;
  has_set_upper_ |= element.has_set_upper_;
  alignment_ = std::max(alignment_, element.alignment_);
  if (const std::int64_t rest = extent() % alignment_; !has_set_upper_ && rest != 0) {
    upper_ = upper() + alignment_ - rest;
  }
}

void TypeBounds::add_member(const Datatype& type, std::uint64_t count, std::int64_t displacement) {
  if (type.basic() != Basic::lower_bound && type.basic() != Basic::upper_bound) {
    return add(TypeBounds(type), count, displacement, type.extent());
  }
  if (count == 0) return;
  if (type.basic() == Basic::lower_bound) {
    lower_ = has_set_lower_ ? std::min(lower_, displacement) : displacement;
    has_set_lower_ = true;
  } else {
    upper_ = has_set_upper_ ? std::max(upper_, displacement) : displacement;
    has_set_upper_ = true;
  }
}

Datatype TypeBounds::apply_to(Datatype type) const {
  if (type.lower() == lower() && type.extent() == extent()) return type;
  return type.resized(lower(), extent());
}

void TypeBounds::apply_to(TypeFacts& facts) const {
  facts.alignment = static_cast<std::uint64_t>(alignment_);
  facts.has_set_lower = has_set_lower_;
  facts.has_set_upper = has_set_upper_;
}

}  // namespace weft::mpi
