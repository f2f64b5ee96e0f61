// SPDX-License-Identifier: Apache-2.0
#include "core/qos/controller.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace weft::qos {

std::uint64_t JobWindow::work() const {
  return iterations.empty() ? 0 : *std::min_element(iterations.begin(), iterations.end());
}

double JobWindow::progress_of_slowest() const {
  if (progress.empty()) return static_cast<double>(work());
  return *std::min_element(progress.begin(), progress.end());
}

double gain(double work, double on_default) {
  return (work - on_default) / std::max(on_default, 1.0);
}

double improvement(std::span<const std::uint64_t> work, std::span<const std::uint64_t> on_default) {
  WEFT_CHECK(work.size() == on_default.size());
  double sum = 0;
  for (std::size_t i = 0; i < work.size(); ++i) {
    sum += gain(static_cast<double>(work[i]), static_cast<double>(on_default[i]));
  }
  return work.empty() ? 0 : sum / static_cast<double>(work.size());
}

}  // namespace weft::qos
