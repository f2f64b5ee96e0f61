// SPDX-License-Identifier: Apache-2.0
// What node 0 makes of the others' figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stream/node/node_report.hpp"
#include "weft/stream.hpp"
#include "weft/time.hpp"

namespace weft::stream {

/// Moves all instants of a report to another clock, which is `offset` ahead of the report's.
void shift_clock(NodeReport& report, Duration offset);

/// The options that nodes must share, as lines of "--name value".
std::string shared_options(const StreamOptions& options);
/// What differs first: "--computes 4 instead of --computes 3". Nothing when they are the same.
std::optional<std::string> options_differ(std::string_view theirs, std::string_view ours);

/// Adds the progress of nodes up to the job's.
class JobProgress {
 public:
  explicit JobProgress(Instant start) : start_(start), last_(start) {}
  /// To be called with the newest progress of every node. Goodput is since the call before.
  StreamProgress total(Instant now, const std::vector<StreamProgress>& nodes);

 private:
  Instant start_;
  Instant last_;
  std::uint64_t last_bytes_ = 0;
};

}  // namespace weft::stream
