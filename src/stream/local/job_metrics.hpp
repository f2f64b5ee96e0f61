// SPDX-License-Identifier: Apache-2.0
// JobMetrics: a job's progress as OpenMetrics, for `--metrics`.
#pragma once

#include <memory>
#include <string_view>

#include "metrics/metrics_server.hpp"
#include "metrics/registry.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"

namespace weft::stream {

class JobMetrics {
 public:
  JobMetrics();
  /// "[HOST]:PORT"; nothing is served when empty.
  Result<void> open(std::string_view address);
  void set(const StreamProgress& progress);
  /// Answers requests; call it often.
  void serve(Instant now);

 private:
  metrics::Registry registry_;
  metrics::Counter& timeslices_;
  metrics::Counter& bytes_;
  metrics::Gauge& goodput_;
  metrics::Gauge& spread_;
  metrics::Gauge& fill_;
  std::unique_ptr<metrics::MetricsServer> server_;
};

}  // namespace weft::stream
