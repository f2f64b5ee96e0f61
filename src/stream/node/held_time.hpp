// SPDX-License-Identifier: Apache-2.0
// HeldTime: for how long something held, of which is heard only now and then.
#pragma once

#include <algorithm>

#include "weft/time.hpp"

namespace weft::stream {

class HeldTime {
 public:
  /// Returns whether it holds from now on; until now it was as it was heard last, since a node that
  /// nothing happens to sleeps. Whether that is news.
  bool hear(Instant now, bool holds) {
    if (holds_) total_ = total_ + std::max(Duration{}, now - since_);
    since_ = now;
    const bool is_news = holds != holds_;
    holds_ = holds;
    return is_news;
  }
  /// Until it was heard of last.
  Duration total() const { return total_; }

 private:
  bool holds_ = false;
  Instant since_{};
  Duration total_{};
};

}  // namespace weft::stream
