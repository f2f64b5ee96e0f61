// SPDX-License-Identifier: Apache-2.0
// NewsSource: a source of news about a job, besides the job's own messages.
#pragma once

#include <cstdint>

#include "weft/fabric.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft {

/// One thread.
class NewsSource {
 public:
  virtual ~NewsSource() = default;
  /// Makes peers from the news known to the fabric. Errors end the process.
  virtual Result<void> take_news(Fabric& fabric) = 0;
  /// This process waits for that peer, which is gone.
  virtual void miss(Instant now, NodeId peer) {
    (void)now;
    (void)peer;
  }
  /// Later lives of this process go on from that place among its messages, or a later one.
  virtual void stored(std::uint64_t place) { (void)place; }
  /// Returns how long news may wait.
  virtual Duration period() const = 0;
  /// Readable when there is news; -1: there is no descriptor, only `take_news` shows it.
  virtual int descriptor() const { return -1; }
  /// All programs of the job are over.
  virtual bool is_over() const { return false; }
};

}  // namespace weft
