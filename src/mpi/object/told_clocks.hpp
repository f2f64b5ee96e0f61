// SPDX-License-Identifier: Apache-2.0
// ToldClocks: the C library's clocks, as a program sees them that may be started anew.
#pragma once

#include <array>
#include <cstdint>

#include "mpi/clocks/clocks.hpp"
#include "mpi/object/questions.hpp"

namespace weft::mpi {

/// What an earlier life of the process has read is read again; later readings go on from there. One
/// thread: that of the questions, which outlive this.
class ToldClocks {
 public:
  explicit ToldClocks(Questions& questions) : questions_(questions) {}

  std::int64_t tell(clocks::Clock clock, std::int64_t now);

 private:
  Questions& questions_;
  /// Clocks that count from the beginning of the process: what its earlier life had used up.
  std::array<std::int64_t, clocks::clocks> ahead_{};
};

}  // namespace weft::mpi
