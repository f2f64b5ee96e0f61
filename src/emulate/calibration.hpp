// SPDX-License-Identifier: Apache-2.0
// Native figures of this machine's layers, the base of percentages and absolute latencies. Each
// machine has a file of its own.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/whole_file.hpp"
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

/// $WEFT_CALIBRATION, or weft/calibration-HOST.json in $XDG_CACHE_HOME or ~/.cache. Error
/// (not_found): the user has no home.
Result<std::string> calibration_path();

/// Empty when nothing was stored. Error: the file is damaged, or has figures that no machine has;
/// names it.
Result<Calibration> load_calibration(const std::string& path);
/// The calibration of calibration_path(); empty where the user has no home.
Result<Calibration> load_calibration();

/// A new calibration's file. The one that is there stays as it is until `store`.
class CalibrationFile {
 public:
  /// Errors name the file and the fix: nothing can be written there (io, exhausted); a file is
  /// there that is no calibration (invalid_argument).
  static Result<CalibrationFile> create(const std::string& path);
  Result<void> store(const Calibration& calibration);

 private:
  explicit CalibrationFile(WholeFile file) : file_(std::move(file)) {}

  WholeFile file_;
};

struct Calibrated {
  Calibration layers;
  std::vector<std::string> notes;  ///< layers left out and why, uncertain figures; a line each
};
/// Called before the first measurement of `layer` and after each: `done` of `all` are over.
using CalibrationProgress = std::function<void(const std::string& layer, int done, int all)>;
/// Measures each layer found here: starts two ranks that exchange messages, for half a minute. A
/// layer that is not installed is left out.
Result<Calibrated> calibrate(const CalibrationProgress& progress);

}  // namespace weft::emulate
