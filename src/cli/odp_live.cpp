// SPDX-License-Identifier: Apache-2.0
#include "cli/odp_live.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>

#include "base/make_error.hpp"
#include "base/units.hpp"
#include "rdma/live_counters.hpp"
#include "rdma/sysfs.hpp"
#include "runtime/clock.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::cli {
namespace {

using rdma::DeviceCounters;
using rdma::MachineReadings;

/// The output of `rdma statistic show mr`; empty where there is no such tool. For another machine,
/// whose files are below `root`, the output is a file there.
std::string region_statistics(const std::string& root) {
  constexpr std::size_t most = std::size_t{16} << 20;
  if (root != "/") {
    return rdma::text_of(root + "/rdma-statistic-mr.txt", most);
  }
  struct Closer {
    void operator()(std::FILE* pipe) const { ::pclose(pipe); }
  };
  const std::unique_ptr<std::FILE, Closer> pipe(::popen("rdma statistic show mr 2>/dev/null", "r"));
  std::string text;
  std::array<char, 4096> part{};
  while (pipe && text.size() < most) {
    const std::size_t n = std::fread(part.data(), 1, part.size(), pipe.get());
    if (n == 0) break;
    text.append(part.data(), n);
  }
  return text;
}

MachineReadings sample(const LiveOptions& options) {
  const std::string sys = (options.root == "/" ? "" : options.root) + "/sys";
  MachineReadings readings = rdma::read_counters(sys);
  if (!readings.empty()) {
    rdma::add_region_statistics(region_statistics(options.root), readings);
  }
  return readings;
}

void tell(const LiveOptions& options, const std::string& device, const DeviceCounters& change,
          const std::vector<rdma::FindingClass>& found) {
  if (options.json) {
    nlohmann::ordered_json json = {{"device", device},
                                   {"timeouts", change.timeouts},
                                   {"sequence_naks", change.sequence_naks},
                                   {"rnr_naks", change.rnr_naks},
                                   {"retries_exceeded", change.retries_exceeded},
                                   {"duplicates", change.duplicates},
                                   {"out_of_sequence", change.out_of_sequence},
                                   {"retransmissions", change.retransmissions},
                                   {"page_faults", change.page_faults},
                                   {"page_invalidations", change.page_invalidations}};
    auto findings = nlohmann::ordered_json::array();
    for (const auto kind : found) {
      findings.push_back({{"class", to_text(kind)}, {"advice", advice_for(kind)}});
    }
    json["findings"] = std::move(findings);
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{:<10} {} timeouts, {} sequence NAKs, {} RNR NAKs, {} duplicates, {} page faults",
               device, change.timeouts, change.sequence_naks, change.rnr_naks, change.duplicates,
               change.page_faults);
    for (const auto kind : found) fmt::print("  {}", to_text(kind));
    fmt::print("\n");
    for (const auto kind : found) fmt::print("  {}\n", advice_for(kind));
  }
  std::fflush(stdout);
}

}  // namespace

void watch_counters(const LiveOptions& options, Outcome& outcome) {
  const StopSignals signals;
  rdma::CounterWatch watch;
  if (watch.look(sample(options)).empty()) {
    return report_error(
        make_error(
            ErrorCode::not_found,
            "--live: there is no RDMA device below {}sys/class/infiniband; name captures instead",
            options.root.ends_with('/') ? options.root : options.root + "/"),
        outcome);
  }
  std::map<std::string, rdma::CounterJudge> judges;
  Instant looked = monotonic_now();
  for (std::uint32_t n = 0; (options.samples == 0 || n < options.samples) && !signals.came(); ++n) {
    const Instant begun = monotonic_now();
    while (!signals.came() && monotonic_now() < begun + options.every) {
      const Duration left = begun + options.every - monotonic_now();
      const Duration nap = std::min(left, Duration::milliseconds(100));
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::max<std::int64_t>(nap.ticks(), 0)));
    }
    const auto changes = watch.look(sample(options));
    const Duration took = monotonic_now() - std::exchange(looked, monotonic_now());
    for (const auto& [device, change] : changes) {
      // Silence counts as well: remembered faults get older.
      const auto found = judges[device].judge(change, took);
      if (change == DeviceCounters()) continue;
      tell(options, device, change, found);
      if (!found.empty()) outcome.code = ExitCode::failed;
    }
  }
}

}  // namespace weft::cli
