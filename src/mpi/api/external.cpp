// SPDX-License-Identifier: Apache-2.0
#include "mpi/api/external.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

namespace weft::mpi {
namespace {

constexpr bool has_x87_extended = std::numeric_limits<long double>::digits == 64;
static_assert(!has_x87_extended || !std::is_same_v<Quad, long double>);
constexpr std::uint8_t long_double_bytes = sizeof(long double);

// The numbers of a predefined datatype.
std::vector<ExternalNumber> numbers_of(MPI_Datatype handle, Basic basic) {
  constexpr ExternalNumber integer{4, 4}, real{8, 8};
  constexpr ExternalNumber extended{long_double_bytes, 16, false, has_x87_extended};
  if (handle == MPI_LONG) return {{8, 4, true}};
  if (handle == MPI_UNSIGNED_LONG) return {{8, 4}};
  if (handle == MPI_WCHAR) return {{sizeof(wchar_t), 2}};
  switch (basic) {
    case Basic::float_long:
      return {extended};
    case Basic::complex_long:
      return {extended, extended};
    case Basic::pair_double_int:
      return {real, integer};
    case Basic::pair_long_int:
      return {{8, 4, true}, integer};
    case Basic::pair_short_int:
      return {{2, 2}, integer};
    case Basic::pair_long_double_int:
      return {extended, integer};
    default:
      const BasicShape& shape = shape_of(basic);
      const auto number = static_cast<std::uint8_t>(shape.turned);
      if (number == 0) return {};
      return std::vector<ExternalNumber>(shape.bytes / number, {number, number});
  }
}

using Bytes = std::array<std::byte, 16>;

/// Rounds a number to the nearest one of the other kind.
template <class From, class To>
Bytes converted(const Bytes& number) {
  From from;
  std::memcpy(&from, number.data(), sizeof from);
  const auto to = static_cast<To>(from);
  Bytes bytes{};  // x87's have 10 and padding
  std::memcpy(bytes.data(), &to, std::is_same_v<To, long double> ? 10 : sizeof to);
  return bytes;
}

}  // namespace

ExternalLayout::ExternalLayout(const Call& call, MPI_Datatype handle, std::uint64_t count)
    : times_(count) {
  add_parts(call, handle);
}

void ExternalLayout::add_parts(const Call& call, MPI_Datatype handle) {
  int error = MPI_SUCCESS;
  const Datatype& type = *call.type(handle, error);
  const TypeRecipe& recipe = notes_of(type).recipe;
  if (recipe.types.empty()) {
    const auto numbers = numbers_of(handle, type.basic());
    if (numbers.empty()) times_ = 0;
    if (numbers.size() == 1) number_ = numbers.front();
    for (std::size_t i = 0; numbers.size() > 1 && i < numbers.size(); ++i) {
      parts_.push_back(ExternalLayout(1));
      parts_.back().number_ = numbers[i];
    }
    return;
  }
  const bool is_struct = recipe.types.size() > 1;
  for (std::size_t i = 0; i < recipe.types.size(); ++i) {
    const std::uint64_t inner = call.type(recipe.types[i], error)->size();
    const std::uint64_t times = is_struct    ? recipe.block_length(i)
                                : inner == 0 ? 0
                                             : type.size() / inner;
    if (times == 0) continue;
    parts_.push_back(ExternalLayout(times));
    parts_.back().add_parts(call, recipe.types[i]);
  }
  if (parts_.empty()) times_ = 0;
}

std::uint64_t ExternalLayout::bytes(std::uint8_t ExternalNumber::*side) const {
  if (parts_.empty()) return times_ * (number_.*side);
  std::uint64_t sum = 0;
  for (const ExternalLayout& part : parts_) sum += part.bytes(side);
  return times_ * sum;
}

template <class Each>
bool ExternalLayout::for_each(Each&& each) const {
  for (std::uint64_t i = 0; i < times_; ++i) {
    if (parts_.empty() && !each(number_)) return false;
    for (const ExternalLayout& part : parts_) {
      if (!part.for_each(each)) return false;
    }
  }
  return true;
}

bool ExternalLayout::keeps_sizes() const {
  if (parts_.empty()) return times_ == 0 || number_.inside == number_.outside;
  return std::ranges::all_of(parts_, &ExternalLayout::keeps_sizes);
}

void ExternalLayout::to_external(const std::byte* packed, std::byte* to) const {
  for_each([&](const ExternalNumber& number) {
    Bytes bytes{};
    std::memcpy(bytes.data(), packed, number.inside);
    if (number.is_x87_extended) bytes = converted<long double, Quad>(bytes);
    std::reverse_copy(bytes.begin(), bytes.begin() + number.outside, to);
    packed += number.inside;
    to += number.outside;
    return true;
  });
}

std::uint64_t ExternalLayout::from_external(std::span<const std::byte> from,
                                            std::byte* packed) const {
  const std::byte* const begin = packed;
  for_each([&](const ExternalNumber& number) {
    if (from.size() < number.outside) return false;
    const bool is_negative = number.is_signed && (from[0] & std::byte{0x80}) != std::byte{0};
    Bytes bytes;
    bytes.fill(is_negative ? std::byte{0xff} : std::byte{0});
    std::reverse_copy(from.begin(), from.begin() + number.outside, bytes.begin());
    if (number.is_x87_extended) bytes = converted<Quad, long double>(bytes);
    std::memcpy(packed, bytes.data(), number.inside);
    packed += number.inside;
    from = from.subspan(number.outside);
    return true;
  });
  return static_cast<std::uint64_t>(packed - begin);
}

}  // namespace weft::mpi
