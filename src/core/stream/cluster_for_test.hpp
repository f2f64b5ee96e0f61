// SPDX-License-Identifier: Apache-2.0
// A whole stream job in one thread on the loopback fabric, with virtual time, for tests of the
// machines. Every contribution's bytes are checked where they arrive.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/rng.hpp"
#include "core/stream/compute_machine.hpp"
#include "core/stream/input_machine.hpp"
#include "fabric/loopback/loopback.hpp"
#include "runtime/memory/mirrored_ring.hpp"

namespace weft::stream::testing {

struct ClusterOptions {
  Roster roster{.inputs = 3, .computes = 3};
  std::uint64_t timeslices = 60;
  std::uint32_t microslices_per_timeslice = 1;
  std::uint32_t overlap = 0;
  std::size_t microslice_bytes = 1000;
  std::size_t ring_bytes = 4096;
  std::size_t largest_contribution = stream::largest_contribution;
  std::size_t descriptors = 8;
  std::uint64_t seed = 1;
  /// Makes the schedule parts of a node; best effort by default.
  std::function<std::unique_ptr<schedule::InputSchedule>(std::uint32_t input)> input_schedule;
  std::function<std::unique_ptr<schedule::ComputeSchedule>(std::uint32_t compute, bool restarted)>
      compute_schedule;
  /// Inputs whose source ends early: index → timeslices.
  std::map<std::uint32_t, std::uint64_t> short_sources;
  Duration late_after = Duration::max();
  Duration give_up_after = Duration::max();
  Duration credit_delay{};
  bool open_end = false;  ///< runs until `stop`
  Duration promise_timeout = Duration::max();
  bool majority_only = false;
  Duration stall_timeout = Duration::max();
  std::size_t most_built_before = 4096;
};

/// The same with another schedule.
ClusterOptions with_grants(ClusterOptions options);
ClusterOptions with_offset(ClusterOptions options);

class Cluster {
 public:
  explicit Cluster(const ClusterOptions& options);
  ~Cluster();

  /// Lets every live node do one round of work, in an order drawn from the seed.
  void step();
  /// Steps until every live node is finished; false when `limit` steps were not enough.
  bool run(int limit = 20000);
  void kill(NodeId node);
  void restart(NodeId node);
  bool lives(NodeId node) const { return nodes_[node.value()] != nullptr; }
  /// Both see the connection break although both live.
  void break_connection(NodeId a, NodeId b) { hub_.break_connection(a, b); }
  /// Nodes of different groups lose each other, until `reunite`; new lives stay in their group.
  void separate(const std::vector<std::vector<std::uint32_t>>& groups);
  void reunite();
  /// A paused node does nothing until it is resumed.
  void pause(NodeId node, bool paused);
  void stop();
  /// Timeslices are released by the sink only every `steps` steps.
  void slow_sink(int steps) { sink_period_ = steps; }

  struct Built {
    std::uint32_t times = 0;
    std::uint32_t flags = 0;     ///< of the last time
    std::uint32_t repeated = 0;  ///< times with the flag that says so
    std::uint32_t components = 0;
  };
  const std::map<std::uint64_t, Built>& built() const { return built_; }
  std::set<std::uint64_t> consumed_;
  /// Timeslices that a sink has done with.
  const std::set<std::uint64_t>& consumed() const { return consumed_; }
  InputMachine& input(std::uint32_t i);
  ComputeMachine& compute(std::uint32_t c);
  std::string describe() const;
  std::uint64_t steps() const { return steps_; }
  const std::string& complaint() const { return complaint_; }

 private:
  struct Node;
  void work(Node& node);
  void feed(Node& node);
  void sink(Node& node);
  void check_component(TimesliceIndex t, std::uint32_t input, const ComponentView& component);
  std::unique_ptr<Node> make(NodeId id, Incarnation incarnation);
  void introduce(Node& node);
  bool are_separate(NodeId a, NodeId b) const { return sides_[a.value()] != sides_[b.value()]; }
  void hang_up(Node& node);

  ClusterOptions options_;
  LoopbackHub hub_;
  Rng rng_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::uint32_t> lives_;
  std::vector<std::size_t> sides_;  // of a partition, by node
  std::map<std::uint64_t, Built> built_;
  std::string complaint_;
  Instant now_{};
  std::uint64_t steps_ = 0;
  int sink_period_ = 1;
};

}  // namespace weft::stream::testing
