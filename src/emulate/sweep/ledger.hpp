// SPDX-License-Identifier: Apache-2.0
// SweepLedger: the directory in which a sweep keeps its runs, so that it can be interrupted, and
// shared by tasks: question.json is the question with all points that were asked so far, and
// runs*.jsonl has a line for each run. Each task appends to a file of its own; a line that was cut
// short by a crash is not read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/sweep/plan.hpp"
#include "emulate/calibration.hpp"
#include "emulate/sweep/question.hpp"
#include "weft/result.hpp"

namespace weft::emulate {

/// The network and how it is made slower, as a run found it.
struct SweepGround {
  std::string host;
  std::string interposer;
  unsigned ranks = 0;
  std::optional<double> latency_ns;             ///< native
  std::optional<double> bandwidth_bytes_per_s;  ///< native
  /// The layer's calibration that the run used: weft took its overhead off, and shares were those
  /// of its bandwidth. None where the layer was not calibrated.
  std::optional<LayerCalibration> calibration;
};

struct SweepRun {
  SweepPoint point;
  sweep::Sample sample;
  SweepGround ground;
  std::string file;  ///< of the ledger; empty otherwise
};

/// Points of runs with different calibrations are different networks. Error (invalid_argument): one
/// of these runs, from this directory, had another calibration than `now`.
Result<void> check_calibration(const std::vector<SweepRun>& runs, const std::string& directory,
                               const std::optional<LayerCalibration>& now);
/// Of runs that tasks made on machines of their own, which have to agree with each other.
Result<void> check_one_calibration(const std::vector<SweepRun>& runs, const std::string& directory);

/// "250 ns native, 10 GB/s, overhead 40 ns", or "none".
std::string to_text(const std::optional<LayerCalibration>& calibration);

class SweepLedger {
 public:
  /// The question of a directory. Errors: there is none (not_found), it cannot be read (corrupt).
  static Result<SweepQuestion> question_of(const std::string& directory);
  /// All runs of all tasks, in the order of their files' names. Errors name the file and line.
  static Result<std::vector<SweepRun>> runs_of(const std::string& directory);

  /// Makes the directory if there is none, writes the question or adds its points to the one that
  /// is there, refuses a directory with another question, and locks the task's file: one process
  /// writes to it.
  static Result<SweepLedger> open(const std::string& directory, const SweepQuestion& question,
                                  const SweepShare& share);
  SweepLedger(SweepLedger&& other) noexcept;
  SweepLedger& operator=(SweepLedger&&) = delete;
  ~SweepLedger();

  /// Runs that are there: of all tasks, or only this task's own when it has a share.
  const std::vector<SweepRun>& runs() const { return runs_; }
  /// The file that `add` appends to, without its directory, as SweepRun::file names it.
  std::string file() const;
  /// On the disk when it returns.
  Result<void> add(const SweepRun& run);

 private:
  SweepLedger(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_ = -1;
  std::vector<SweepRun> runs_;
};

}  // namespace weft::emulate
