// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/module_loader.hpp"
#include "base/mpi_launcher.hpp"
#include "emulate/calibration.hpp"
#include "emulate/paired.hpp"
#include "emulate/sockets.hpp"

namespace weft::emulate {
namespace {

constexpr int kBandwidths = 7;
constexpr int kPairs = 60;
constexpr auto kAdded = Duration::microseconds(5);

/// The median: the best of several runs is a bandwidth that a virtual machine has now and then.
Result<double> bandwidth(const Probe& probe) {
  std::vector<double> seen;
  for (int i = 0; i < kBandwidths; ++i) {
    const auto figures = run_probe(probe, ProbeRun{}, {"window", "1048576", "16", "8"});
    if (!figures) return figures.error();
    seen.push_back(figures->at("bandwidth_median"));
  }
  std::ranges::nth_element(seen, seen.begin() + kBandwidths / 2);
  return seen[kBandwidths / 2];
}

Result<LayerCalibration> measure(const Probe& probe, std::vector<std::string>& notes) {
  LayerCalibration layer;
  const auto bytes_per_s = bandwidth(probe);
  if (!bytes_per_s) return bytes_per_s.error();
  layer.bandwidth_bytes_per_s = *bytes_per_s;
  ProbeRun held{};
  held.request.latency.value = kAdded;
  auto paired = run_paired(probe, held, {"latency", "8", "2000"}, {.runs = kPairs});
  if (!paired) return paired.error();
  keep_fastest_state(*paired);
  if (const std::string warning = warning_of_few(*paired); !warning.empty()) {
    notes.push_back(fmt::format("{}: {}", probe.mpi, warning));
  }
  layer.latency_ns = median_native(*paired, "latency_min");
  // The overhead is negative where holding hides some of a message's own cost. It is the mean of
  // what the minimum and the 25th percentile say.
  const double added =
      (median_added(*paired, "latency_min") + median_added(*paired, "latency_p25")) / 2;
  layer.overhead_ns = added - static_cast<double>(kAdded.to_nanoseconds());
  return layer;
}

}  // namespace

Result<Calibrated> calibrate() {
  Calibrated all;
  for (const char* mpi : {"mpich", "openmpi"}) {
    const auto probe = find_probe(mpi);
    if (!probe) {
      all.notes.push_back(probe.error().message);
      continue;
    }
    auto layer = measure(*probe, all.notes);
    if (!layer) {
      all.notes.push_back(fmt::format("{}: {}", mpi, layer.error().message));
      continue;
    }
    all.layers[std::string("ucx-") + mpi] = *layer;
  }
  if (auto sockets = calibrate_sockets(); sockets) {
    all.layers[kSocketsLayer] = *sockets;
  } else {
    all.notes.push_back(sockets.error().message);
  }
  if (!all.layers.empty()) return all;
  std::string why;
  for (const std::string& note : all.notes) why += "; " + note;
  return Error{ErrorCode::not_found, fmt::format("no layer can be calibrated here{}", why)};
}

}  // namespace weft::emulate
