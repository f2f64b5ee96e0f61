// SPDX-License-Identifier: Apache-2.0
#include "mpi/object/fold.hpp"

#include <array>
#include <complex>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace weft::mpi {
namespace {

template <class T>
constexpr bool is_quad = std::is_same_v<T, Quad> || std::is_same_v<T, std::complex<Quad>>;

/// So few values take longer to be folded in a wide loop.
constexpr std::uint64_t few_values = 32;

template <class T, class F>
[[gnu::always_inline]] inline void fold_values(const T* __restrict left, T* __restrict right,
                                               std::uint64_t values, F&& f) {
  for (std::uint64_t i = 0; i < values; ++i) right[i] = static_cast<T>(f(left[i], right[i]));
}

#if defined(__x86_64__)
/// The same with registers of 32 bytes, which not all processors have. The results are the same.
template <class T, class F>
[[gnu::target("avx2")]] void fold_values_wide(const T* left, T* right, std::uint64_t values,
                                              F&& f) {
  fold_values(left, right, values, f);
}
bool has_wide_registers() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#endif

template <class T, class F>
bool each(const void* in, void* inout, std::uint64_t values, F&& f) {
  if constexpr (is_quad<T>) {
    // Processors load 16 bytes at once from aligned places only, and Fortran promises 8.
    const auto* from = static_cast<const std::byte*>(in);
    auto* to = static_cast<std::byte*>(inout);
    for (std::uint64_t i = 0; i < values; ++i, from += sizeof(T), to += sizeof(T)) {
      T a, b;
      std::memcpy(&a, from, sizeof a);
      std::memcpy(&b, to, sizeof b);
      b = static_cast<T>(f(a, b));
      std::memcpy(to, &b, sizeof b);
    }
    return true;
  }
  const T* left = static_cast<const T*>(in);
  T* right = static_cast<T*>(inout);
#if defined(__x86_64__)
  if (values > few_values && has_wide_registers()) {
    fold_values_wide(left, right, values, f);
    return true;
  }
#endif
  fold_values(left, right, values, f);
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

/// Bytes are no numbers: MPI_BYTE has operations on bits alone.
bool fold_bits(Fold operation, const void* in, void* inout, std::uint64_t n) {
  const bool is_on_bits =
      operation == Fold::bit_and || operation == Fold::bit_or || operation == Fold::bit_xor;
  return is_on_bits && fold_integer<std::uint8_t>(operation, in, inout, n);
}

using FoldOf = bool (*)(Fold, const void*, void*, std::uint64_t);

/// In the order of the enumeration; nullptr: no operation is defined.
constexpr std::array<FoldOf, 31> folds{
    nullptr,  // none
    fold_bits,
    fold_integer<std::int8_t>,
    fold_integer<std::uint8_t>,
    fold_integer<std::int16_t>,
    fold_integer<std::uint16_t>,
    fold_integer<std::int32_t>,
    fold_integer<std::uint32_t>,
    fold_integer<std::int64_t>,
    fold_integer<std::uint64_t>,
    fold_ordered<float>,
    fold_ordered<double>,
    fold_ordered<long double>,
    fold_field<std::complex<float>>,
    fold_field<std::complex<double>>,
    fold_field<std::complex<long double>>,
    fold_ordered<Quad>,
    fold_field<std::complex<Quad>>,
    nullptr,  // float16
    nullptr,  // two_complex32
    nullptr,  // two_complex64
    nullptr,  // lower_bound
    nullptr,  // upper_bound
    fold_placed<int>,
    fold_placed<float>,
    fold_packed<double>,
    fold_packed<long>,
    fold_packed<short>,
    fold_packed<long double>,
    fold_placed<float, float>,
    fold_placed<double, double>,
};
static_assert(folds.size() == static_cast<std::size_t>(Basic::pair_double_double) + 1);

}  // namespace

bool fold(Fold operation, Basic basic, const void* in, void* inout, std::uint64_t values) {
  const FoldOf of_type = folds[static_cast<std::size_t>(basic)];
  return of_type != nullptr && of_type(operation, in, inout, values);
}

}  // namespace weft::mpi
