// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "base/module_loader.hpp"
#include "base/mpi_launcher.hpp"
#include "emulate/calibration.hpp"
#include "emulate/probe.hpp"

namespace weft::emulate {
namespace {

constexpr int kRepetitions = 12;
constexpr auto kAdded = Duration::microseconds(5);

Result<LayerCalibration> measure(const Probe& probe) {
  LayerCalibration layer;
  const ProbeRun native{};
  ProbeRun held{};
  held.request.latency.value = kAdded;
  // Many short runs in turns: a run's ranks may lie well or badly for as long as it lasts, and only
  // the least of each is the machine's own.
  double with_hold = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const auto bandwidth = run_probe(probe, native, {"window", "1048576", "16", "8"});
    if (!bandwidth) return bandwidth.error();
    const auto alone = run_probe(probe, native, {"latency", "8", "2000"});
    if (!alone) return alone.error();
    const auto delayed = run_probe(probe, held, {"latency", "8", "2000"});
    if (!delayed) return delayed.error();
    const double least = alone->at("latency_min");
    const double held_least = delayed->at("latency_min");
    layer.latency_ns = i == 0 ? least : std::min(layer.latency_ns, least);
    with_hold = i == 0 ? held_least : std::min(with_hold, held_least);
    layer.bandwidth_bytes_per_s =
        std::max(layer.bandwidth_bytes_per_s, bandwidth->at("bandwidth_median"));
  }
  layer.overhead_ns =
      std::max(0.0, with_hold - layer.latency_ns - static_cast<double>(kAdded.to_nanoseconds()));
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
    auto layer = measure(*probe);
    if (!layer) {
      all.notes.push_back(fmt::format("{}: {}", mpi, layer.error().message));
      continue;
    }
    all.layers[std::string("ucx-") + mpi] = *layer;
  }
  if (!all.layers.empty()) return all;
  std::string why;
  for (const std::string& note : all.notes) why += "; " + note;
  return Error{ErrorCode::not_found, fmt::format("no layer can be calibrated here{}", why)};
}

}  // namespace weft::emulate
