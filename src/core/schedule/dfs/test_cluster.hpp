// SPDX-License-Identifier: Apache-2.0
// For tests: input engines and deterministic engines on a virtual network, with clocks that are off
// and drift. Deterministic: the same configuration gives the same run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "base/rng.hpp"
#include "core/schedule/dfs/dfs.hpp"
#include "core/schedule/dfs/messages.hpp"

namespace weft::schedule::dfs {

/// A node's clock: shows offset + (1 + ppm / 10^6) · true time.
struct TestClock {
  Duration offset{};
  std::int64_t ppm = 0;
  Instant local(Instant true_time) const;
  /// The first true time at which the clock shows `local_time` or more.
  Instant true_time(Instant local_time) const;
};

struct ClusterConfig {
  DfsOptions options;
  std::uint32_t inputs = 4;
  std::uint32_t computes = 4;
  std::uint32_t credits = 16;                           ///< contributions per pair
  Duration contribution = Duration::microseconds(100);  ///< time on a link
  Duration latency = Duration::microseconds(10);        ///< one way, plus uniform jitter
  Duration jitter{};
  TimesliceIndex end = TimesliceIndex::max();
  std::uint64_t seed = 1;
  std::vector<TestClock> input_clocks;    ///< empty: all show true time
  std::vector<TestClock> compute_clocks;  ///< empty: all show true time
  /// Time on its links of a contribution of `input` in `interval`, in percent of `contribution`.
  std::function<std::int64_t(std::uint32_t input, IntervalId interval)> slowness;
};

/// A proposal as it left an engine.
struct SentProposal {
  std::uint32_t engine = 0;
  std::uint32_t input = 0;
  Instant sent{};  ///< true time
  Proposal proposal;
};

class TestCluster {
 public:
  explicit TestCluster(ClusterConfig config);

  /// Runs until `now()` is at least `until`, or nothing more happens.
  void run_until(Instant until);
  /// Runs until every live input has started an interval beyond `id` (at most 1000 virtual
  /// seconds).
  void run_past(IntervalId id);
  Instant now() const { return now_; }

  void kill_engine(std::uint32_t engine);  ///< the compute node goes on without its engine
  void restart_engine(std::uint32_t engine);
  void kill_input(std::uint32_t input);
  void kill_compute(std::uint32_t compute);  ///< and its engine: a new grid without it
  /// The input starts nothing until then.
  void pause_input(std::uint32_t input, Instant until);

  /// True times at which inputs started an interval, by input; absent when they did not.
  std::map<std::uint32_t, Instant> starts(IntervalId id) const;
  /// Latest minus earliest of `starts`.
  Duration start_spread(IntervalId id) const;
  /// The results of take_intervals of one input, in order.
  const std::vector<IntervalRecord>& records(std::uint32_t input) const;
  const std::vector<SentProposal>& proposals() const { return proposals_; }
  /// First to last arrival of a completed timeslice, by timeslice.
  const std::map<TimesliceIndex, Duration>& spreads() const { return spreads_; }
  const RoundGrid& grid() const { return grid_; }
  std::uint64_t delivered() const { return delivered_; }

 private:
  struct Event {
    Instant at;
    std::uint64_t order;
    std::function<void()> action;
    bool operator>(const Event& o) const { return at != o.at ? at > o.at : order > o.order; }
  };
  struct Input;
  struct Compute {
    std::unique_ptr<ComputeSchedule> engine;
    bool alive = true;
    TestClock clock;
    Instant link_free{};
    std::map<TimesliceIndex, std::map<std::uint32_t, Instant>> arrivals;  // by input
  };

  void at(Instant when, std::function<void()> action);
  Instant arrival(std::uint32_t from, std::uint32_t to);
  Duration travel();
  void turn(std::uint32_t input);
  void turn_compute(std::uint32_t compute);
  void send(std::uint32_t input, TimesliceIndex t);
  void reach(std::uint32_t input, std::uint32_t compute, TimesliceIndex t, Instant started,
             Duration time, std::uint32_t grid_number);
  void deliver(std::uint32_t input, std::uint32_t compute, TimesliceIndex t, Instant started,
               std::uint32_t grid_number);
  bool is_complete(const std::map<std::uint32_t, Instant>& arrivals) const;
  void complete_timeslices(std::uint32_t compute);
  void take_grid();
  std::uint32_t live_inputs() const;
  std::uint32_t member_index(std::uint32_t compute) const;

  ClusterConfig config_;
  Rng rng_;
  Instant now_{};
  std::uint64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  RoundGrid grid_;
  std::uint32_t grid_number_ = 0;
  std::vector<std::uint32_t> members_;  // compute nodes alive, by grid index
  std::vector<std::shared_ptr<Input>> inputs_;
  std::vector<Compute> computes_;
  std::vector<Instant> last_arrival_;  // per ordered pair of nodes: messages do not overtake
  std::map<IntervalId, std::map<std::uint32_t, Instant>> starts_;
  std::vector<SentProposal> proposals_;
  std::map<TimesliceIndex, Duration> spreads_;
  std::uint64_t delivered_ = 0;
};

}  // namespace weft::schedule::dfs
