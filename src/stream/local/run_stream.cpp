// SPDX-License-Identifier: Apache-2.0
#include "stream/local/local.hpp"
#include "weft/stream.hpp"

namespace weft {

Result<StreamSummary> run_stream(const StreamOptions& options, const LocalOptions& local) {
  auto record = stream::run_local(options, local);
  if (!record) return std::move(record).error();
  record->version = WEFT_VERSION;
  StreamSummary summary;
  summary.timeslices_complete = record->timeslices_complete;
  summary.timeslices_incomplete = record->timeslices_incomplete;
  summary.timeslices_lost = record->timeslices_lost;
  summary.bytes = record->bytes;
  summary.seconds = record->seconds;
  summary.errors = record->checks.errors;
  summary.first_error = record->checks.first_error;
  summary.json = report::to_json(*record, report::RecordForm::summary);
  return summary;
}

}  // namespace weft
