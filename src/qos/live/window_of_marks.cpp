// SPDX-License-Identifier: Apache-2.0
#include "qos/live/window_of_marks.hpp"

#include <algorithm>
#include <cmath>

#include "base/check.hpp"

namespace weft::qos {

MarkedWindow window_of_marks(std::span<const JobProgress> before,
                             std::span<const JobProgress> after, Duration period) {
  WEFT_CHECK(before.size() == after.size());
  MarkedWindow window;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double taken = (after[i].elapsed - before[i].elapsed).to_seconds();
    const auto ended = static_cast<double>(after[i].iterations - before[i].iterations);
    if (ended == 0 || taken <= 0) {
      window.iterations.push_back(0);
      window.waited.push_back(1);
      continue;
    }
    const double in_period = ended / taken * period.to_seconds();
    const double waited = (after[i].waited - before[i].waited).to_seconds() / taken;
    window.iterations.push_back(
        static_cast<std::uint64_t>(std::llround(in_period * MarkedWindow::parts)));
    window.waited.push_back(std::clamp(waited, 0.0, 1.0));
  }
  return window;
}

}  // namespace weft::qos
