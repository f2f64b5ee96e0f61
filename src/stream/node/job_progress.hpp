// SPDX-License-Identifier: Apache-2.0
// JobProgress: the progress of a job, from the reports of its nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/ids.hpp"
#include "weft/stream.hpp"
#include "weft/time.hpp"

namespace weft::stream {

/// A node counts from nothing in each of its lives; a job's counts never go back: timeslices of an
/// earlier life stay built. One thread.
class JobProgress {
 public:
  JobProgress(std::uint32_t nodes, Instant start) : nodes_(nodes), start_(start), last_(start) {}

  /// The newest progress of a node in that life of it. News of lives before its last are ignored.
  void set(NodeId node, Incarnation life, const StreamProgress& progress);
  /// Counts of all lives, the rest of those that go on. Goodput is since the call before.
  StreamProgress total(Instant now);

 private:
  struct Node {
    Incarnation life{};
    StreamProgress now;  // of that life
    std::uint64_t timeslices_before = 0;
    std::uint64_t bytes_before = 0;
  };
  std::vector<Node> nodes_;
  Instant start_;
  Instant last_;
  std::uint64_t last_bytes_ = 0;
};

}  // namespace weft::stream
