// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/fold.hpp"

#include <complex>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace weft::mpi {
namespace {

template <class T, class F>
bool each(const void* in, void* inout, std::uint64_t values, F&& f) {
  const T* left = static_cast<const T*>(in);
  T* right = static_cast<T*>(inout);
  for (std::uint64_t i = 0; i < values; ++i) right[i] = static_cast<T>(f(left[i], right[i]));
  return true;
}

/// The operations that numbers of every kind have.
template <class T>
bool fold_field(Fold operation, const void* in, void* inout, std::uint64_t n) {
  switch (operation) {
    case Fold::sum:
      return each<T>(in, inout, n, [](const T& a, const T& b) { return a + b; });
    case Fold::product:
      return each<T>(in, inout, n, [](const T& a, const T& b) { return a * b; });
    default:
      return false;
  }
}

/// MPI has logical operations for whole numbers alone; MPICH, for those with fractions too.
template <class T>
bool fold_ordered(Fold operation, const void* in, void* inout, std::uint64_t n) {
  switch (operation) {
    case Fold::logical_and:
      return each<T>(in, inout, n, [](T a, T b) { return a != 0 && b != 0; });
    case Fold::logical_or:
      return each<T>(in, inout, n, [](T a, T b) { return a != 0 || b != 0; });
    case Fold::logical_xor:
      return each<T>(in, inout, n, [](T a, T b) { return (a != 0) != (b != 0); });
    case Fold::max:
      return each<T>(in, inout, n, [](T a, T b) { return a > b ? a : b; });
    case Fold::min:
      return each<T>(in, inout, n, [](T a, T b) { return a < b ? a : b; });
    default:
      return fold_field<T>(operation, in, inout, n);
  }
}

/// Sums that overflow wrap around, as MPIs have it: by numbers without sign.
template <class T>
bool fold_integer(Fold operation, const void* in, void* inout, std::uint64_t n) {
  using U = std::make_unsigned_t<T>;
  switch (operation) {
    case Fold::sum:
      return each<U>(in, inout, n, [](U a, U b) { return a + b; });
    case Fold::product:
      return each<U>(in, inout, n, [](U a, U b) { return std::uint64_t{a} * std::uint64_t{b}; });
    case Fold::bit_and:
      return each<T>(in, inout, n, [](T a, T b) { return a & b; });
    case Fold::bit_or:
      return each<T>(in, inout, n, [](T a, T b) { return a | b; });
    case Fold::bit_xor:
      return each<T>(in, inout, n, [](T a, T b) { return a ^ b; });
    default:
      return fold_ordered<T>(operation, in, inout, n);
  }
}

template <class T, class Place>
struct Placed {
  T value;
  Place place;
};

/// Keeps the value with the lower place when two values are equal.
template <class T, class Place = int>
bool fold_placed(Fold operation, const void* in, void* inout, std::uint64_t n) {
  if (operation != Fold::min_place && operation != Fold::max_place) return false;
  const bool is_max = operation == Fold::max_place;
  return each<Placed<T, Place>>(in, inout, n, [&](const auto& a, const auto& b) {
    if (a.value == b.value) return a.place < b.place ? a : b;
    return (a.value > b.value) == is_max ? a : b;
  });
}

/// The same of pairs that lie in memory with a gap, which does not travel.
template <class T>
bool fold_packed(Fold operation, const void* in, void* inout, std::uint64_t n) {
  constexpr std::size_t bytes = sizeof(T) + sizeof(int);
  const auto* left = static_cast<const std::byte*>(in);
  auto* right = static_cast<std::byte*>(inout);
  for (std::uint64_t i = 0; i < n; ++i, left += bytes, right += bytes) {
    Placed<T, int> a{}, b{};
    std::memcpy(&a.value, left, sizeof(T));
    std::memcpy(&a.place, left + sizeof(T), sizeof(int));
    std::memcpy(&b.value, right, sizeof(T));
    std::memcpy(&b.place, right + sizeof(T), sizeof(int));
    if (!fold_placed<T>(operation, &a, &b, 1)) return false;
    std::memcpy(right, &b.value, sizeof(T));
    std::memcpy(right + sizeof(T), &b.place, sizeof(int));
  }
  return fold_placed<T>(operation, nullptr, nullptr, 0);
}

}  // namespace

bool fold(Fold operation, Basic basic, const void* in, void* inout, std::uint64_t values) {
  switch (basic) {
    case Basic::bytes:
    case Basic::uint8:
      return fold_integer<std::uint8_t>(operation, in, inout, values);
    case Basic::int8:
      return fold_integer<std::int8_t>(operation, in, inout, values);
    case Basic::int16:
      return fold_integer<std::int16_t>(operation, in, inout, values);
    case Basic::uint16:
      return fold_integer<std::uint16_t>(operation, in, inout, values);
    case Basic::int32:
      return fold_integer<std::int32_t>(operation, in, inout, values);
    case Basic::uint32:
      return fold_integer<std::uint32_t>(operation, in, inout, values);
    case Basic::int64:
      return fold_integer<std::int64_t>(operation, in, inout, values);
    case Basic::uint64:
      return fold_integer<std::uint64_t>(operation, in, inout, values);
    case Basic::float32:
      return fold_ordered<float>(operation, in, inout, values);
    case Basic::float64:
      return fold_ordered<double>(operation, in, inout, values);
    case Basic::float_long:
      return fold_ordered<long double>(operation, in, inout, values);
    case Basic::complex32:
      return fold_field<std::complex<float>>(operation, in, inout, values);
    case Basic::complex64:
      return fold_field<std::complex<double>>(operation, in, inout, values);
    case Basic::complex_long:
      return fold_field<std::complex<long double>>(operation, in, inout, values);
    case Basic::pair_int_int:
      return fold_placed<int>(operation, in, inout, values);
    case Basic::pair_float_int:
      return fold_placed<float>(operation, in, inout, values);
    case Basic::pair_double_int:
      return fold_packed<double>(operation, in, inout, values);
    case Basic::pair_long_int:
      return fold_packed<long>(operation, in, inout, values);
    case Basic::pair_short_int:
      return fold_packed<short>(operation, in, inout, values);
    case Basic::pair_long_double_int:
      return fold_packed<long double>(operation, in, inout, values);
    case Basic::pair_float_float:
      return fold_placed<float, float>(operation, in, inout, values);
    case Basic::pair_double_double:
      return fold_placed<double, double>(operation, in, inout, values);
    case Basic::none:
    case Basic::lower_bound:
    case Basic::upper_bound:
      break;
  }
  return false;
}

}  // namespace weft::mpi
