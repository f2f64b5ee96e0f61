// SPDX-License-Identifier: Apache-2.0
// A component's memory, taken apart: microslice descriptors, then contents. The bytes may come from
// anywhere; once `open` has accepted them, every access is inside of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "weft/result.hpp"
#include "weft/timeslice.hpp"

namespace weft::wire {

/// One microslice of a component, in place.
struct MicrosliceView {
  MicrosliceDescriptor descriptor;
  std::span<const std::byte> content;
};

/// Does not own the bytes. Cheap to copy.
class ComponentReader {
 public:
  /// Checks that all descriptors fit, and that every content they name lies behind them and inside
  /// of `data`. The error says which microslice is wrong, without a file name.
  static Result<ComponentReader> open(std::span<const std::byte> data,
                                      std::uint64_t num_microslices);

  std::uint64_t num_microslices() const { return num_microslices_; }
  MicrosliceDescriptor descriptor(std::uint64_t m) const {
    MicrosliceDescriptor d;
    std::memcpy(&d, data_.data() + m * sizeof d, sizeof d);
    return d;
  }
  /// m < num_microslices.
  MicrosliceView microslice(std::uint64_t m) const;

 private:
  ComponentReader(std::span<const std::byte> data, std::uint64_t num_microslices)
      : data_(data), num_microslices_(num_microslices) {}

  std::span<const std::byte> data_;
  std::uint64_t num_microslices_;
};

}  // namespace weft::wire
