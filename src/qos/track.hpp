// SPDX-License-Identifier: Apache-2.0
// Track: the windows of one placement, one after the other, either on the default level or as a
// controller says. A file keeps the simulated windows, and a track that finds it goes on from its
// end: a controller gets the same windows again, and decides the same. One of another version that
// decides otherwise does not continue them.
//
// Windows are completed in their order. Simulating one needs only its number and the levels, so
// several threads may simulate windows that are not the next one (run_tracks.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "qos/experiment.hpp"
#include "qos/jobs_twin.hpp"
#include "qos/kept_track.hpp"
#include "qos/placement.hpp"

namespace weft::qos {

/// One thread at a time, except for `simulate`.
class Track {
 public:
  enum class Kind : bool { on_default, controlled };
  /// All are referred to.
  Track(const ExperimentOptions& options, const std::vector<jobs::WorkloadJob>& jobs,
        const Placement& placement, std::uint32_t index, Kind kind);

  /// The model of the jobs for this track's controller.
  JobsTwin& twin() { return twin_; }
  /// The results of its controller's searches, which the directory keeps.
  std::vector<FoundLevels>& searches() { return kept_.searches; }
  /// Reads the windows that the directory keeps. Comes first. `controller`: null on default.
  Result<void> begin(std::unique_ptr<Controller> controller);

  std::uint32_t placement() const { return index_; }
  bool is_controlled() const { return kind_ == Kind::controlled; }
  /// The number of completed windows, which is the next one's.
  std::uint32_t completed() const { return completed_; }
  bool is_done() const { return completed_ == options_.iterations; }
  /// True: the directory had the next window, which `complete_kept` completes.
  bool has_kept_next() const { return completed_ < kept_.windows.size(); }
  /// The levels of the next window.
  const Configuration& levels() const { return last_levels_; }
  /// Returns whether a window, the next one or a later one, will have the same levels as far as the
  /// controller knows.
  bool foresees(std::uint32_t window) const;
  /// Simulates a window with these levels. Several threads may, beside any other call.
  Result<KeptWindow> simulate(std::uint32_t window, const Configuration& levels);
  /// The outcome of the next window: the controller gets it and chooses levels. Saves now and then.
  Result<void> complete(KeptWindow window);
  Result<void> complete_kept();
  /// Writes the file, if it lacks a completed window.
  Result<void> save();

  const KeptTrack& kept() const { return kept_; }
  /// Those of the last completed window.
  const Configuration& last_levels() const { return last_levels_; }
  std::uint32_t settled_after() const { return settled_after_; }
  const std::vector<std::uint32_t>& accepted() const { return accepted_; }

 private:
  using Clock = std::chrono::steady_clock;

  Result<void> load();
  Result<void> save_now_and_then();
  Result<void> add_isolated(const std::vector<Presence>& present, KeptWindow& window);
  Result<std::uint64_t> isolated_work(const Presence& job);
  Result<void> prepare();
  Result<void> check_kept();
  Result<void> control();
  Error cannot_continue(ErrorCode code, std::string_view why) const;
  void announce(const std::vector<Presence>& present);
  std::string path() const;
  TrackIdentity identity() const;

  const ExperimentOptions& options_;
  const std::vector<jobs::WorkloadJob>& jobs_;
  const Placement& placement_;
  std::uint32_t index_;
  Kind kind_;
  JobsTwin twin_;
  std::unique_ptr<Controller> controller_;
  KeptTrack kept_;
  std::uint32_t completed_ = 0;
  std::size_t saved_ = 0;  // windows in the file
  std::size_t saved_searches_ = 0;
  Clock::time_point next_save_{};
  std::mutex isolated_mutex_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>, std::uint64_t>
      isolated_;                        // by job, variant and age
  std::vector<std::uint32_t> present_;  // jobs in the window before
  Configuration last_levels_;
  std::uint32_t settled_after_ = 0;
  std::uint32_t accepted_before_ = 0;  // by controllers of earlier mixes of jobs
  std::vector<std::uint32_t> accepted_;
};

}  // namespace weft::qos
