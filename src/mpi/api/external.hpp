// SPDX-License-Identifier: Apache-2.0
// external32, the representation of numbers that all machines share: the highest byte comes first,
// and a long has 4 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "mpi/api/datatypes.hpp"

namespace weft::mpi {

/// MPICH and Open MPI take the name in capitals, too.
inline bool is_external32(std::string_view name) {
  return name == "external32" || name == "EXTERNAL32";
}

/// A number's bytes in memory and in external32.
struct ExternalNumber {
  std::uint8_t inside = 1;
  std::uint8_t outside = 1;
  bool is_signed = false;        ///< if it is shorter outside
  bool is_x87_extended = false;  ///< a long double of x86, which is a binary128 outside
};

/// The numbers of elements in the order in which they travel.
class ExternalLayout {
 public:
  /// `count` elements of a datatype, which the handle names. Valid as long as any number of them.
  ExternalLayout(const Call& call, MPI_Datatype handle, std::uint64_t count);
  std::uint64_t inside() const { return bytes(&ExternalNumber::inside); }
  std::uint64_t outside() const { return bytes(&ExternalNumber::outside); }
  /// Whether every number has as many bytes outside as inside.
  bool keeps_sizes() const;
  /// Converts packed elements.
  void to_external(const std::byte* packed, std::byte* to) const;
  /// The same back, of the numbers that `from` has in full. Returns how many bytes they have.
  std::uint64_t from_external(std::span<const std::byte> from, std::byte* packed) const;

 private:
  explicit ExternalLayout(std::uint64_t times) : times_(times) {}
  void add_parts(const Call& call, MPI_Datatype handle);
  std::uint64_t bytes(std::uint8_t ExternalNumber::*side) const;
  /// False: `each` returned false.
  template <class Each>
  bool for_each(Each&& each) const;

  std::uint64_t times_ = 1;
  ExternalNumber number_;  // if there are no parts
  std::vector<ExternalLayout> parts_;
};

}  // namespace weft::mpi
