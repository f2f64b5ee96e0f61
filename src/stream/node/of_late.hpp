// SPDX-License-Identifier: Apache-2.0
// MeanOfLate and MedianOfLate: each answers with one number for the values that it got since the
// last question. A node may be asked more often than it measures: without a new value the last
// answer stands.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::stream {

class MeanOfLate {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  double take() {
    if (count_ > 0) last_ = sum_ / static_cast<double>(count_);
    sum_ = 0;
    count_ = 0;
    return last_;
  }

 private:
  double sum_ = 0;
  std::uint64_t count_ = 0;
  double last_ = 0;
};

class MedianOfLate {
 public:
  /// Between two questions the first `most` values count.
  explicit MedianOfLate(std::size_t most) : most_(most) {}
  void add(double value) {
    if (values_.size() < most_) values_.push_back(value);
  }
  double take() {
    if (!values_.empty()) {
      const auto middle = values_.begin() + static_cast<std::ptrdiff_t>(values_.size() / 2);
      std::nth_element(values_.begin(), middle, values_.end());
      last_ = *middle;
    }
    values_.clear();
    return last_;
  }

 private:
  std::size_t most_;
  std::vector<double> values_;
  double last_ = 0;
};

}  // namespace weft::stream
