// SPDX-License-Identifier: Apache-2.0
#include "report/report.hpp"

#include <algorithm>
#include <optional>

#include "report/files.hpp"
#include "report/qos_page.hpp"

namespace weft::report {
namespace {

/// Returns whether the runs' command simulated it, as far as they say. A directory may hold the
/// files of several commands.
bool is_of(const NetworkRecord& network, const std::vector<RunRecord>& runs) {
  return std::any_of(runs.begin(), runs.end(), [&](const RunRecord& run) {
    return run.command.empty() || run.command == network.command;
  });
}

}  // namespace

Result<std::string> write_report(const std::string& dir) {
  Result<std::optional<NetworkRecord>> network = read_network(dir);
  if (!network) return std::move(network).error();
  const Result<std::vector<RunRecord>> runs = read_runs(dir);
  const Result<std::optional<QosRecord>> qos = read_qos(dir);
  if (!qos) return qos.error();
  const bool has_other = network->has_value() || qos->has_value();
  const bool has_runs = runs || runs.error().code != ErrorCode::not_found || !has_other;
  if (!runs && has_runs) return runs.error();
  std::string path;
  if (qos->has_value()) {
    path = in_directory(dir, "qos.html");
    if (auto written = write_file_whole(path, qos_page(**qos)); !written) return written.error();
  }
  if (network->has_value()) {
    path = in_directory(dir, "network.html");
    if (auto written = write_file_whole(path, network_page(**network)); !written) {
      return written.error();
    }
  }
  if (!has_runs) return path;
  path = in_directory(dir, "report.html");
  const bool of_runs = network->has_value() && is_of(**network, *runs);
  if (auto written = write_file_whole(path, report_page(*runs, of_runs)); !written) {
    return written.error();
  }
  return path;
}

}  // namespace weft::report
