// SPDX-License-Identifier: Apache-2.0
// The triangular matrix of spmv and spmv2, in compressed rows: row i has elements 0 … i.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/spmd.hpp"

namespace weft::examples {

/// Some consecutive rows.
class TriangularRows {
 public:
  TriangularRows(std::int64_t from, std::int64_t to) : first_(from) {
    for (std::int64_t row = from; row < to; ++row) {
      for (std::int64_t column = 0; column <= row; ++column) {
        columns_.push_back(static_cast<std::uint32_t>(column));
        values_.push_back(static_cast<double>((row + column) % 5 + 1));
      }
      ends_.push_back(values_.size());
    }
  }
  /// A row times a vector: every fourth column added up for itself, in the order of columns, so
  /// that additions need not wait for each other. Every rank computes the same.
  double times(std::int64_t row, const double* vector) const {
    const auto number = static_cast<std::size_t>(row - first_);
    std::size_t i = number == 0 ? 0 : ends_[number - 1];
    const std::size_t end = ends_[number];
    double sums[4] = {};
    for (; i + 4 <= end; i += 4) {
      for (std::size_t k = 0; k < 4; ++k) sums[k] += values_[i + k] * vector[columns_[i + k]];
    }
    for (; i < end; ++i) sums[0] += values_[i] * vector[columns_[i]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }

 private:
  std::int64_t first_;
  std::vector<std::size_t> ends_;
  std::vector<std::uint32_t> columns_;
  std::vector<double> values_;
};

/// Rows divided so that all ranks have about as many elements.
inline spmd::Partitioning rows_by_elements(const spmd::Space& rows, std::uint32_t ranks) {
  return spmd::block(
      rows, ranks, {.index_weight = [](std::int64_t row) { return static_cast<double>(row + 1); }});
}

}  // namespace weft::examples
