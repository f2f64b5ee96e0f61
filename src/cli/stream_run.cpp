// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_run.hpp"

#include <fmt/format.h>

#include "cli/terminal.hpp"
#include "report/published.hpp"
#include "report/report.hpp"
#include "runtime/stop_signals.hpp"
#include "stream/local/local.hpp"
#include "stream/node/node_report.hpp"

namespace weft::cli {

std::size_t contribution_bytes(const report::RunRecord& record) {
  const std::uint64_t contributions =
      (record.timeslices_complete + record.timeslices_incomplete + record.checks.repeated) *
      record.inputs;
  return contributions == 0 ? 64 << 10 : std::max<std::size_t>(record.bytes / contributions, 1);
}

Result<void> measure_limit(const StreamSettings& settings, std::vector<report::RunRecord>& runs) {
  report::attach_references(settings.references, runs);
  if (settings.no_limit || runs.empty() || StopSignals::count() > 0) return {};
  StatusLine line;
  line.show({"measuring the limit", "--no-limit leaves it out"});
  auto limit =
      stream::run_limit(settings.stream, settings.local, contribution_bytes(runs.front()), true);
  // The runs are whole: a signal that comes now ends the command with their report.
  if (!limit && limit.error().code == ErrorCode::cancelled) return {};
  if (!limit) return std::move(limit).error();
  const double rate = stream::limit_of(*limit->limit_bytes_per_s, runs);
  for (auto& run : runs) stream::set_limit(settings.stream, rate, run);
  report::attach_references(settings.references, runs);
  return {};
}

void describe(const StreamSettings& settings, report::RunRecord& record) {
  StreamSettings of_run = settings;
  of_run.stream.schedule = record.schedule;
  record.version = WEFT_VERSION;
  record.parameters = parameters_of(of_run);
  record.machine = report::this_machine();
  record.command = settings.local.executable_command;
  if (settings.stream.link) record.fabric = fmt::format("shaped({})", record.fabric);
  if (settings.local.testbed) record.fabric += " in a testbed";
}

bool is_sound(const report::RunRecord& r) {
  return r.checks.errors == 0 && r.timeslices_lost == 0;
}

}  // namespace weft::cli
