// SPDX-License-Identifier: Apache-2.0
#include "core/stream/built_before.hpp"

#include <algorithm>

namespace weft::stream {

void BuiltBefore::bound(TimesliceIndex end) {
  if (built_.size() <= most_) return;
  std::vector<BuiltBy> kept;
  const std::size_t newest = built_.size() - most_ / 2;
  for (std::size_t i = 0; i < built_.size(); ++i) {
    const TimesliceRun& run = built_[i].run;
    const bool is_covered = run.count == 0 || run.first.plus(run.stride * (run.count - 1)) < end;
    // Views that follow each other without a timeslice in between repeat each other's runs.
    const bool is_repeated = std::find(kept.begin(), kept.end(), built_[i]) != kept.end();
    if (!is_repeated && (i >= newest || !is_covered)) kept.push_back(built_[i]);
  }
  built_ = std::move(kept);
  add_all_below(end);
}

}  // namespace weft::stream
