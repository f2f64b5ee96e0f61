// SPDX-License-Identifier: Apache-2.0
#include "qos/run_tracks.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "qos/threads.hpp"

namespace weft::qos {
namespace {

/// A track and its windows that are done or under way, but not completed.
struct RunningTrack {
  Track* track = nullptr;
  std::map<std::uint32_t, std::optional<Result<KeptWindow>>> windows;  // empty: under way
  std::uint64_t levels = 0;  ///< counts changes of the levels that these windows have
  bool completes = false;    ///< a thread completes a window: the track is that thread's
  Result<void> state;
};

/// A thread's next step: it simulates a window, or completes the next one.
struct Task {
  RunningTrack* of = nullptr;
  std::uint32_t window = 0;
  bool completes = false;
  Configuration levels = {};  ///< to simulate with; unused on default
};

class TrackThreads {
 public:
  TrackThreads(std::span<Track* const> tracks, const std::function<bool()>& may_continue)
      : may_continue_(may_continue) {
    for (Track* track : tracks) running_.push_back({.track = track});
  }

  Result<void> run(unsigned threads) {
    work_in_threads(threads, [this] { work(); });
    return worst();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (!is_over()) {
      const auto task = next_task();
      if (!task) {
        changed_.wait(lock);
        continue;  // threads that only waited would wake each other without end
      }
      if (task->completes) {
        complete(*task->of, lock);
      } else {
        simulate(*task, lock);
      }
      changed_.notify_all();
    }
  }

  bool is_over() const {
    return stopped_ || std::all_of(running_.begin(), running_.end(), [](const RunningTrack& r) {
             return !r.completes && r.track->is_done();
           });
  }

  std::optional<Task> next_task() {
    for (RunningTrack& r : running_) {
      if (can_complete(r)) return Task{.of = &r, .completes = true};
    }
    for (RunningTrack& r : running_) {
      if (r.track->is_controlled()) {
        if (auto task = task_of(r, 1)) return task;
      }
    }
    for (RunningTrack& r : running_) {
      if (auto task = task_of(r, most_ahead)) return task;
    }
    return std::nullopt;
  }

  static bool can_complete(const RunningTrack& r) {
    if (r.completes || r.track->is_done()) return false;
    if (r.track->has_kept_next()) return true;
    const auto next = r.windows.find(r.track->completed());
    return next != r.windows.end() && next->second.has_value();
  }

  /// The first of the track's next `most` windows that nobody has begun and whose levels are known.
  static std::optional<Task> task_of(RunningTrack& r, std::uint32_t most) {
    if (r.completes || r.track->is_done() || r.track->has_kept_next()) return std::nullopt;
    for (std::uint32_t i = 0; i < most; ++i) {
      const std::uint32_t window = r.track->completed() + i;
      if (!r.track->foresees(window)) break;
      if (!r.windows.contains(window)) {
        r.windows.emplace(window, std::nullopt);
        return Task{.of = &r, .window = window, .levels = r.track->levels()};
      }
    }
    return std::nullopt;
  }

  void simulate(const Task& task, std::unique_lock<std::mutex>& lock) {
    RunningTrack& r = *task.of;
    const std::uint64_t levels = r.levels;
    lock.unlock();
    auto window = r.track->simulate(task.window, task.levels);
    lock.lock();
    if (r.levels == levels) r.windows[task.window] = std::move(window);
  }

  void complete(RunningTrack& r, std::unique_lock<std::mutex>& lock) {
    std::optional<Result<KeptWindow>> window;
    if (!r.track->has_kept_next())
      window = std::move(r.windows.extract(r.track->completed()).mapped());
    r.completes = true;
    lock.unlock();
    const Configuration before = r.track->levels();
    Result<void> state;
    if (!window) {
      state = r.track->complete_kept();
    } else if (window->ok()) {
      state = r.track->complete(**std::move(window));
    } else {
      state = window->error();
    }
    if (state && !may_continue_()) {
      state = Error{ErrorCode::cancelled, "the experiment was ended before it was done"};
    }
    lock.lock();
    r.completes = false;
    if (!state) stopped_ = true;
    if (!state) r.state = std::move(state);
    if (r.track->levels() == before) return;
    r.windows.clear();
    ++r.levels;
  }

  Result<void> worst() {
    Result<void> worst;
    for (RunningTrack& r : running_) {
      const auto take = [&](const Result<void>& state) {
        if (state.ok()) return;
        if (worst.ok() || worst.error().code == ErrorCode::cancelled) worst = state;
      };
      take(r.track->save());
      take(r.state);
    }
    return worst;
  }

  /// Windows of one track that lie ready or are simulated, at most.
  static constexpr std::uint32_t most_ahead = 64;

  const std::function<bool()>& may_continue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<RunningTrack> running_;
  bool stopped_ = false;
};

}  // namespace

Result<void> run_tracks(std::span<Track* const> tracks, unsigned threads,
                        const std::function<bool()>& may_continue) {
  return TrackThreads(tracks, may_continue).run(threads);
}

}  // namespace weft::qos
