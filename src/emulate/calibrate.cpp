// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/make_error.hpp"
#include "base/module_loader.hpp"
#include "emulate/calibration.hpp"
#include "emulate/paired.hpp"
#include "emulate/sockets.hpp"
#include "emulate/verdict.hpp"
#include "runtime/stop_signals.hpp"

namespace weft::emulate {
namespace {

constexpr int kBandwidths = 7;
constexpr int kPairs = 60;
constexpr auto kAdded = Duration::microseconds(5);

/// Counts the measurements of all layers. A layer that fails skips those that it has left.
class Steps {
 public:
  Steps(const CalibrationProgress& progress, int all) : progress_(progress), all_(all) {}

  void begin(const std::string& layer, int count) {
    layer_ = layer;
    done_ = std::exchange(end_, end_ + count);
    progress_(layer_, done_, all_);
  }
  void advance() { progress_(layer_, ++done_, all_); }

 private:
  const CalibrationProgress& progress_;
  int all_;
  std::string layer_;
  int done_ = 0;
  int end_ = 0;  ///< of the layer's measurements
};

/// The median: the best of several runs is a bandwidth that a virtual machine has now and then.
Result<double> bandwidth(const Probe& probe, Steps& steps) {
  std::vector<double> seen;
  for (int i = 0; i < kBandwidths; ++i) {
    const auto figures = run_probe(probe, ProbeRun{}, {"window", "1048576", "16", "8"});
    if (!figures) return figures.error();
    seen.push_back(figures->at("bandwidth_median"));
    steps.advance();
  }
  std::ranges::nth_element(seen, seen.begin() + kBandwidths / 2);
  return seen[kBandwidths / 2];
}

Result<LayerCalibration> measure(const Probe& probe, std::vector<std::string>& notes,
                                 Steps& steps) {
  LayerCalibration layer;
  const auto bytes_per_s = bandwidth(probe, steps);
  if (!bytes_per_s) return bytes_per_s.error();
  layer.bandwidth_bytes_per_s = *bytes_per_s;
  ProbeRun held{};
  held.request.latency.value = kAdded;
  auto paired =
      run_paired(probe, held, {"latency", "8", "2000"}, {.runs = kPairs}, [&] { steps.advance(); });
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

Result<Calibrated> calibrate(const CalibrationProgress& progress) {
  constexpr int kPerProbe = kBandwidths + kPairs;
  Calibrated all;
  std::vector<Probe> probes;
  for (const char* mpi : {"mpich", "openmpi"}) {
    if (auto probe = find_probe(mpi)) {
      probes.push_back(std::move(probe).value());
    } else {
      all.notes.push_back(probe.error().message);
    }
  }
  Steps steps(progress, static_cast<int>(probes.size()) * kPerProbe + kSocketRepetitions);
  for (const Probe& probe : probes) {
    const std::string layer = "ucx-" + probe.mpi;
    steps.begin(layer, kPerProbe);
    auto measured = measure(probe, all.notes, steps);
    if (StopSignals::number() != 0) return stopped();
    if (measured) {
      all.layers[layer] = *measured;
    } else {
      all.notes.push_back(fmt::format("{}: {}", probe.mpi, measured.error().message));
    }
  }
  steps.begin(kSocketsLayer, kSocketRepetitions);
  auto sockets = calibrate_sockets([&] { steps.advance(); });
  if (StopSignals::number() != 0) return stopped();
  if (sockets) {
    all.layers[kSocketsLayer] = *sockets;
  } else {
    all.notes.push_back(sockets.error().message);
  }
  if (!all.layers.empty()) return all;
  std::string why;
  for (const std::string& note : all.notes) why += "; " + note;
  return make_error(ErrorCode::not_found, "no layer can be calibrated here{}", why);
}

}  // namespace weft::emulate
