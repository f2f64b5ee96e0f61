// SPDX-License-Identifier: Apache-2.0
// Track: the windows of one placement, one after the other, either on the default level or as a
// controller says. A file keeps the simulated windows, and a track that finds it goes on from its
// end: a controller gets the same windows again, and decides the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "qos/experiment.hpp"
#include "qos/jobs_twin.hpp"
#include "qos/placement.hpp"

namespace weft::qos {

/// The record of a window, by jobs that are in it.
struct KeptWindow {
  std::vector<std::uint64_t> isolated;                 ///< default track: work of each job alone
  std::vector<std::vector<std::uint64_t>> iterations;  ///< by process; default: the least only
  std::vector<std::vector<std::uint32_t>> waited;      ///< in 1/10,000 of the window; controlled
};

/// The text of a track's file. `fingerprint` identifies its experiment.
std::string to_text(const std::string& fingerprint, const std::vector<KeptWindow>& windows);
/// Errors: no such text (corrupt), or that of another experiment (invalid_argument).
Result<std::vector<KeptWindow>> windows_of(const std::string& text, const std::string& fingerprint);

class Track {
 public:
  enum class Kind : bool { on_default, controlled };
  /// All are referred to.
  Track(const ExperimentOptions& options, const std::vector<jobs::WorkloadJob>& jobs,
        const Placement& placement, std::uint32_t index, Kind kind);

  /// Calls `go_on` after each window. Errors: cancelled when it returns false.
  Result<void> run(const std::function<bool()>& go_on);

  const std::vector<KeptWindow>& windows() const { return windows_; }
  const Configuration& last_levels() const { return last_levels_; }
  std::uint32_t settled_after() const { return settled_after_; }
  const std::vector<std::uint32_t>& accepted() const { return accepted_; }

 private:
  Result<void> load();
  Result<void> save() const;
  Result<KeptWindow> simulate(const std::vector<Presence>& present,
                              const Configuration* configuration);
  Result<void> add_isolated(const std::vector<Presence>& present, KeptWindow& window);
  Result<void> control(Controller& controller, std::uint32_t window);
  void announce(Controller& controller, const std::vector<Presence>& present);
  std::string path() const;
  std::string fingerprint() const;

  const ExperimentOptions& options_;
  const std::vector<jobs::WorkloadJob>& jobs_;
  const Placement& placement_;
  std::uint32_t index_;
  Kind kind_;
  std::string controller_;  // the name of the one that decides
  JobsTwin twin_;
  std::vector<KeptWindow> windows_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint64_t>
      isolated_;                        // by job, variant and age
  std::vector<std::uint32_t> present_;  // jobs in the window before
  Configuration last_levels_;
  std::uint32_t settled_after_ = 0;
  std::uint32_t accepted_before_ = 0;  // by controllers of earlier mixes of jobs
  std::vector<std::uint32_t> accepted_;
};

}  // namespace weft::qos
