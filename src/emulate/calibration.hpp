// SPDX-License-Identifier: Apache-2.0
// Native figures of this machine's layers, the base of percentages and absolute latencies. Each
// machine has a file of its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/result.hpp"

namespace weft::emulate {

struct LayerCalibration {
  double latency_ns = 0;  ///< one way of 8 bytes: median of least ones; of sockets: least median
  double bandwidth_bytes_per_s = 0;  ///< windows of messages of 1 MiB
  double overhead_ns = 0;            ///< added by holding a message, beyond the requested latency
  friend bool operator==(const LayerCalibration&, const LayerCalibration&) = default;
};

/// By layer: "ucx-mpich", "ucx-openmpi", "sockets".
using Calibration = std::map<std::string, LayerCalibration>;

/// $WEFT_CALIBRATION, or weft/calibration-HOST.json in $XDG_CACHE_HOME or ~/.cache.
std::string calibration_path();

/// Empty when nothing was stored. Error: the file is damaged, or has figures that no machine has;
/// names it.
Result<Calibration> load_calibration(const std::string& path);
Result<void> store_calibration(const std::string& path, const Calibration& calibration);

/// Measures each layer found here: starts two ranks that exchange messages, for some seconds. A
/// layer that is not installed is left out; `notes` says why, a line each.
struct Calibrated {
  Calibration layers;
  std::vector<std::string> notes;
};
Result<Calibrated> calibrate();

}  // namespace weft::emulate
