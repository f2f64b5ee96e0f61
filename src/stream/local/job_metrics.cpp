// SPDX-License-Identifier: Apache-2.0
#include "stream/local/job_metrics.hpp"

namespace weft::stream {

JobMetrics::JobMetrics()
    : timeslices_(registry_.counter({"weft_timeslices", "Timeslices built.", ""})),
      bytes_(
          registry_.counter({"weft_delivered_bytes", "Content of the timeslices built.", "bytes"})),
      goodput_(registry_.gauge(
          {"weft_goodput_bytes_per_second", "Content delivered per second, of late.", ""})),
      spread_(
          registry_.gauge({"weft_spread_seconds",
                           "Median time from first to last contribution, of late.", "seconds"})),
      fill_(registry_.gauge({"weft_buffer_fill_ratio",
                             "Mean share of the compute nodes' buffers in use.", "ratio"})) {}

Result<void> JobMetrics::open(std::string_view address) {
  if (address.empty()) return {};
  auto server = metrics::MetricsServer::open(address, registry_);
  if (!server) return std::move(server).error();
  server_ = std::move(server).value();
  return {};
}

void JobMetrics::set(const StreamProgress& progress) {
  timeslices_.set_total(progress.timeslices);
  bytes_.set_total(progress.bytes);
  goodput_.set(progress.goodput_bytes_per_s);
  spread_.set(progress.spread_us / 1e6);
  fill_.set(progress.buffer_fill);
}

void JobMetrics::serve(Instant now) {
  if (server_) server_->serve(now);
}

}  // namespace weft::stream
