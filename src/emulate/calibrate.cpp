// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/module_loader.hpp"
#include "base/mpi_launcher.hpp"
#include "emulate/calibration.hpp"
#include "emulate/probe.hpp"
#include "emulate/sockets.hpp"

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
  std::map<std::string, double> alone;
  std::map<std::string, double> held_up;
  const auto keep_least = [](std::map<std::string, double>& least, const auto& values) {
    for (const auto& [name, value] : values) {
      const auto [place, fresh] = least.emplace(name, value);
      if (!fresh) place->second = std::min(place->second, value);
    }
  };
  for (int i = 0; i < kRepetitions; ++i) {
    const auto bandwidth = run_probe(probe, native, {"window", "1048576", "16", "8"});
    if (!bandwidth) return bandwidth.error();
    layer.bandwidth_bytes_per_s =
        std::max(layer.bandwidth_bytes_per_s, bandwidth->at("bandwidth_median"));
    const auto latency = run_probe(probe, native, {"latency", "8", "2000"});
    if (!latency) return latency.error();
    keep_least(alone, *latency);
    const auto delayed = run_probe(probe, held, {"latency", "8", "2000"});
    if (!delayed) return delayed.error();
    keep_least(held_up, *delayed);
  }
  layer.latency_ns = alone["latency_min"];
  // The overhead is negative where holding hides some of a message's own cost. It is the mean of
  // the differences of the minima and of the 25th percentiles.
  layer.overhead_ns = (held_up["latency_min"] - alone["latency_min"] + held_up["latency_p25"] -
                       alone["latency_p25"]) /
                          2 -
                      static_cast<double>(kAdded.to_nanoseconds());
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
