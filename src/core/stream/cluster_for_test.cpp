// SPDX-License-Identifier: Apache-2.0
#include "core/stream/cluster_for_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "core/schedule/grant.hpp"
#include "core/schedule/in_order.hpp"

namespace weft::stream::testing {
namespace {

MirroredBytes bytes_of(const MirroredRing& ring) {
  return {ring.view().memory().data(), ring.view().size()};
}

MirroredRing make_ring(std::size_t size) {
  return MirroredRing::create(ring_size_for(ByteCount(size)), "test").value();
}

std::byte pattern(std::uint64_t microslice, std::uint32_t input, std::size_t i) {
  return static_cast<std::byte>(microslice * 31 + input * 7 + i);
}

}  // namespace

ClusterOptions with_grants(ClusterOptions options) {
  const Roster roster = options.roster;
  options.input_schedule = [roster](std::uint32_t i) {
    return schedule::make_grant_input(i, roster.computes, 1);
  };
  options.compute_schedule = [roster](std::uint32_t, bool) {
    return schedule::make_grant_compute({}, roster.inputs);
  };
  options.credit_delay = Duration::microseconds(20);
  return options;
}

ClusterOptions with_offset(ClusterOptions options) {
  options.input_schedule = [](std::uint32_t i) { return schedule::make_offset_input(i); };
  return options;
}

struct Cluster::Node {
  NodeId id{};
  bool paused = false;
  std::unique_ptr<Fabric> fabric;
  std::vector<MirroredRing> rings;
  std::vector<std::vector<std::byte>> descriptors;
  std::unique_ptr<InputBuffer> buffer;
  std::unique_ptr<InputMachine> input;
  std::unique_ptr<ComputeMachine> compute;
  Outbox out{64, 16 << 10};
  std::uint64_t produced = 0;
  bool source_ended = false;
  std::deque<TimesliceIndex> held;
  std::vector<ComponentView> components;
};

Cluster::Cluster(const ClusterOptions& options)
    : options_(options),
      rng_(options.seed),
      lives_(options.roster.nodes(), 1),
      sides_(options.roster.nodes(), 0) {
  if (!options_.input_schedule) {
    options_.input_schedule = [](std::uint32_t) { return schedule::make_best_effort_input(); };
  }
  if (!options_.compute_schedule) {
    options_.compute_schedule = [](std::uint32_t, bool) {
      return std::make_unique<schedule::SilentComputeSchedule>();
    };
  }
  for (std::uint32_t i = 0; i < options.roster.nodes(); ++i) {
    nodes_.push_back(make(NodeId(i), Incarnation(1)));
  }
  for (auto& node : nodes_) introduce(*node);
}

Cluster::~Cluster() = default;

std::unique_ptr<Cluster::Node> Cluster::make(NodeId id, Incarnation incarnation) {
  auto node = std::make_unique<Node>();
  node->id = id;
  node->fabric = hub_.open(id, incarnation).value();
  const bool restarted = incarnation.value() > 1;
  const Roster& roster = options_.roster;
  if (roster.is_input(id)) {
    node->rings.push_back(make_ring(options_.ring_bytes * roster.computes * 4));
    node->rings.push_back(make_ring(64 << 10));
    node->buffer =
        std::make_unique<InputBuffer>(bytes_of(node->rings[0]), bytes_of(node->rings[1]));
    InputConfig config{.roster = roster, .self = id.value(), .restarted = restarted};
    config.microslices_per_timeslice = options_.microslices_per_timeslice;
    config.overlap_microslices = options_.overlap;
    if (!options_.open_end) config.end = TimesliceIndex(options_.timeslices);
    config.largest_contribution = options_.largest_contribution;
    config.window = 4096;
    config.most_built_before = options_.most_built_before;
    config.promise_timeout = options_.promise_timeout;
    config.majority_only = options_.majority_only;
    config.stall_timeout = options_.stall_timeout;
    config.start_by = Instant(Duration::microseconds(500).ticks());
    node->input =
        std::make_unique<InputMachine>(config, *node->buffer, options_.input_schedule(id.value()));
    return node;
  }
  ComputeConfig config{.roster = roster, .self = roster.compute_index(id), .restarted = restarted};
  config.microslices_per_timeslice = options_.microslices_per_timeslice;
  config.late_after = options_.late_after;
  config.give_up_after = options_.give_up_after;
  config.credit_delay = options_.credit_delay;
  std::vector<PairMemory> memory;
  node->descriptors.resize(roster.inputs);
  for (std::uint32_t i = 0; i < roster.inputs; ++i) {
    node->rings.push_back(make_ring(options_.ring_bytes));
    auto& d = node->descriptors[i];
    d.resize(options_.descriptors * sizeof(ContributionDescriptor));
    PairMemory pair{.data = bytes_of(node->rings[i]), .descriptors = d};
    pair.data_region = node->fabric->expose(node->rings[i].memory()).value().remote;
    pair.descriptor_region = node->fabric->expose(d).value().remote;
    memory.push_back(pair);
  }
  node->components.resize(roster.inputs);
  node->compute = std::make_unique<ComputeMachine>(
      config, std::move(memory), options_.compute_schedule(roster.compute_index(id), restarted));
  return node;
}

void Cluster::introduce(Node& node) {
  for (auto& other : nodes_) {
    if (!other || other->id == node.id || are_separate(node.id, other->id)) continue;
    const auto life = [&](const Node& n) { return Incarnation(lives_[n.id.value()]); };
    (void)node.fabric->add_peer(other->id, life(*other), other->fabric->address());
    (void)other->fabric->add_peer(node.id, life(node), node.fabric->address());
  }
}

void Cluster::separate(const std::vector<std::vector<std::uint32_t>>& groups) {
  for (std::size_t side = 0; side < groups.size(); ++side) {
    for (const std::uint32_t n : groups[side]) sides_[n] = side;
  }
  for (auto& node : nodes_) {
    for (std::uint32_t other = 0; node && other < nodes_.size(); ++other) {
      if (are_separate(node->id, NodeId(other))) node->fabric->remove_peer(NodeId(other));
    }
  }
}

void Cluster::reunite() {
  std::fill(sides_.begin(), sides_.end(), 0);
  for (auto& node : nodes_) {
    if (node) introduce(*node);
  }
}

void Cluster::hang_up(Node& node) {
  for (const NodeId id : node.out.hang_up.view()) {
    node.fabric->remove_peer(id);
    if (!nodes_[id.value()] || are_separate(node.id, id)) continue;
    (void)node.fabric->add_peer(id, Incarnation(lives_[id.value()]),
                                nodes_[id.value()]->fabric->address());
  }
  node.out.hang_up.clear();
}

void Cluster::kill(NodeId id) {
  nodes_[id.value()].reset();
}

void Cluster::restart(NodeId id) {
  nodes_[id.value()] = make(id, Incarnation(++lives_[id.value()]));
  introduce(*nodes_[id.value()]);
}

void Cluster::pause(NodeId id, bool paused) {
  if (nodes_[id.value()]) nodes_[id.value()]->paused = paused;
}

void Cluster::stop() {
  for (auto& node : nodes_) {
    if (node && node->input) node->input->stop();
  }
}

InputMachine& Cluster::input(std::uint32_t i) {
  return *nodes_[i]->input;
}
ComputeMachine& Cluster::compute(std::uint32_t c) {
  return *nodes_[options_.roster.inputs + c]->compute;
}

std::string Cluster::describe() const {
  std::string text;
  for (const auto& node : nodes_) {
    if (!node) continue;
    text += (node->input ? node->input->describe() : node->compute->describe()) + "\n";
  }
  return text;
}

void Cluster::feed(Node& node) {
  if (const auto seek = node.input->take_seek()) {
    node.produced = *seek;
    node.source_ended = false;
  }
  if (!node.input->source_may_run() || node.source_ended) return;
  std::uint64_t last = options_.timeslices * options_.microslices_per_timeslice + options_.overlap;
  if (options_.open_end) last = ~std::uint64_t{0};
  const auto shortened = options_.short_sources.find(node.id.value());
  if (shortened != options_.short_sources.end()) {
    last = shortened->second * options_.microslices_per_timeslice;
  }
  for (int n = 0; n < 4 && node.produced < last; ++n) {
    const std::size_t size =
        options_.microslice_bytes / 2 +
        (node.produced * 37 + node.id.value() * 11) % (options_.microslice_bytes / 2 + 1);
    const auto room = node.buffer->reserve(size);
    if (room.data() == nullptr) break;
    for (std::size_t i = 0; i < size; ++i) room[i] = pattern(node.produced, node.id.value(), i);
    MicrosliceDescriptor descriptor;
    descriptor.index = node.produced * 1000;
    node.buffer->commit(descriptor);
    ++node.produced;
  }
  if (node.produced >= last) {
    node.source_ended = true;
    node.input->on_source_ended();
  }
}

void Cluster::check_component(TimesliceIndex t, std::uint32_t input,
                              const ComponentView& component) {
  const std::size_t n = component.num_microslices;
  if (component.data.size() < n * sizeof(MicrosliceDescriptor)) {
    complaint_ = fmt::format("timeslice {}: component {} is too short", t.value(), input);
    return;
  }
  std::vector<MicrosliceDescriptor> d(n);
  std::memcpy(d.data(), component.data.data(), n * sizeof(MicrosliceDescriptor));
  for (std::size_t m = 0; m < n; ++m) {
    const std::uint64_t number = t.value() * options_.microslices_per_timeslice + m;
    const std::byte* content =
        component.data.data() + n * sizeof(MicrosliceDescriptor) + (d[m].offset - d[0].offset);
    bool good = d[m].index == number * 1000;
    for (std::size_t i = 0; good && i < d[m].size; ++i) {
      good = content[i] == pattern(number, input, i);
    }
    if (!good && complaint_.empty()) {
      complaint_ = fmt::format("timeslice {}: component {} has wrong bytes", t.value(), input);
    }
  }
}

void Cluster::sink(Node& node) {
  for (const Delivery& delivery : node.out.deliver.view()) {
    const TimesliceView view = node.compute->view(delivery.timeslice, node.components);
    Built& built = built_[view.index.value()];
    ++built.times;
    built.flags = view.flags;
    built.repeated += (view.flags & bit(TimesliceFlag::repeated)) != 0;
    built.components = 0;
    for (std::uint32_t i = 0; i < view.components.size(); ++i) {
      const ComponentView& component = view.components[i];
      if (component.flags & bit(TimesliceFlag::missing_components)) continue;
      ++built.components;
      check_component(view.index, i, component);
    }
    node.held.push_back(delivery.timeslice);
  }
  node.out.deliver.clear();
  node.out.built.clear();
  if (steps_ % static_cast<std::uint64_t>(sink_period_) != 0) return;
  while (!node.held.empty()) {
    // Out of order, as a sink with several timeslices in hand may be.
    const bool back = rng_.below(2) == 0;
    const TimesliceIndex t = back ? node.held.back() : node.held.front();
    consumed_.insert(t.value());
    node.compute->release(t);
    back ? node.held.pop_back() : node.held.pop_front();
  }
}

void Cluster::work(Node& node) {
  Completion completions[16];
  const std::size_t n = node.fabric->poll(now_, completions);
  for (std::size_t i = 0; i < n; ++i) {
    if (node.input) {
      node.input->on_completion(now_, completions[i]);
    } else {
      node.compute->on_completion(now_, completions[i]);
    }
  }
  if (node.input) {
    feed(node);
    node.input->turn(now_, node.out);
    node.out.intervals.clear();
  } else {
    node.compute->turn(now_, node.out);
    sink(node);
  }
  node.out.posted(node.fabric->post(node.out.tx.view()));
  hang_up(node);
}

void Cluster::step() {
  ++steps_;
  now_ = now_ + Duration::microseconds(1);
  std::vector<std::size_t> order(nodes_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
  for (const std::size_t i : order) {
    if (nodes_[i] && !nodes_[i]->paused) work(*nodes_[i]);
  }
}

bool Cluster::run(int limit) {
  for (int i = 0; i < limit; ++i) {
    step();
    bool all = true;
    for (auto& node : nodes_) {
      if (!node) continue;
      all = all && (node->input ? node->input->finished() : node->compute->finished()) &&
            node->out.tx.empty();
    }
    if (all) return true;
  }
  return false;
}

}  // namespace weft::stream::testing
