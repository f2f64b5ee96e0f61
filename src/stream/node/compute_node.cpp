// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/rng.hpp"
#include "core/stream/compute_machine.hpp"
#include "runtime/memory/mirrored_ring.hpp"
#include "stream/node/of_late.hpp"
#include "stream/node/schedules.hpp"
#include "stream/node/sink_runner.hpp"
#include "stream/node/stream_node.hpp"

namespace weft::stream {
namespace {

constexpr std::size_t spreads_kept = 1 << 16;
constexpr std::size_t buckets_kept = 1 << 16;
/// Rings that a sample looks at: with more input nodes than that they take turns.
constexpr std::size_t fills_per_sample = 256;
/// Short against the time that rings last on any network, long against the time of a small
/// contribution.
constexpr Duration credit_delay = Duration::microseconds(20);

class ComputeNode final : public StreamNode {
 public:
  ComputeNode(const StreamOptions& options, const ComputeConfig& config, MirroredArena rings,
              std::vector<ContributionDescriptor> descriptors, std::vector<PairMemory> memory,
              std::unique_ptr<SinkRunner> sink, bool restarted)
      : config_(config),
        skip_(options.skip_when_sink_is_slow),
        rings_(std::move(rings)),
        descriptors_(std::move(descriptors)),
        machine_(config, std::move(memory), make_compute_schedule(options, config.self, restarted)),
        sink_(std::move(sink)),
        components_(options.inputs),
        spreads_(spreads_kept),
        built_(report::series_limit),
        fills_(report::series_limit) {
    report_.node = config.roster.compute_node(config.self);
    report_.restarted = restarted;
    report_.bucket_ns = goodput_bucket(options).ticks();
  }

  void on_completion(Instant now, const Completion& completion) override {
    machine_.on_completion(now, completion);
  }

  bool work(Instant now, Outbox& out) override {
    const std::size_t before = out.tx.size();
    released_.clear();
    sink_->collect(released_);
    for (const TimesliceIndex t : released_) machine_.release(t);
    with_sink_ -= released_.size();
    if (!cut_off_) machine_.turn(now, out);
    const bool moved = !out.deliver.empty() || !released_.empty();
    for (const Delivery& d : out.deliver.view()) waiting_.push_back(d.timeslice);
    out.deliver.clear();
    for (const TimesliceBuilt& b : out.built.view()) record(b);
    out.built.clear();
    const bool handed = hand_over();
    if (report_.started == Instant::never() && machine_.current_view().number > 0) {
      report_.started = now;
    }
    end_sink();
    return moved || handed || out.tx.size() > before;
  }

  Instant next_deadline() const override {
    return cut_off_ ? Instant::never() : machine_.next_deadline();
  }
  std::vector<int> descriptors() const override {
    const int news = sink_->descriptor();
    return news < 0 ? std::vector<int>() : std::vector<int>{news};
  }
  void stop() override {}
  void cut_off() override { cut_off_ = true; }
  void hurry() override { sink_->stop_waiting(); }
  void leave() override { sink_->leave(); }
  bool waits_for_sink() const override {
    return !waiting_.empty() || with_sink_ > 0 || (sink_ending_ && !sink_ended_);
  }
  bool started() const override { return report_.started != Instant::never(); }
  bool began_stream() const override { return machine_.began_stream(); }
  bool finished() const override { return has_all() && sink_ended_; }
  const std::optional<Error>& failure() const override { return failure_; }
  std::string describe() const override { return machine_.describe(); }

  void sample(Instant now) override {
    const std::size_t looked_at = std::min(components_.size(), fills_per_sample);
    // fills_ keeps each 2nd, 4th, … of them: with a fixed order those of the same input nodes.
    next_sampled_ = static_cast<std::uint32_t>(first_sampled_.below(components_.size()));
    for (std::size_t k = 0; k < looked_at; ++k) {
      const std::uint32_t i = next_sampled_;
      next_sampled_ = i + 1 < components_.size() ? i + 1 : 0;
      const double fill = machine_.fill(i);
      fill_of_late_.add(fill);
      fills_.add({now.ticks(), i, fill});
    }
  }

  StreamProgress progress() override {
    StreamProgress p;
    p.timeslices = machine_.counters().complete + machine_.counters().incomplete;
    p.bytes = machine_.counters().bytes;
    p.buffer_fill = fill_of_late_.take();
    p.spread_us = spread_of_late_.take();
    return p;
  }

  NodeReport report() override {
    const ComputeCounters& c = machine_.counters();
    report_.complete = c.complete;
    report_.incomplete = c.incomplete;
    report_.late = c.late;
    report_.repeated = c.repeated;
    report_.bytes = c.bytes;
    report_.sink = sink_->summary();
    report_.sink.dropped += dropped_;
    report_.spreads_us = spreads_.values();
    report_.built = built_.values();
    report_.fills = fills_.values();
    if (failure_) report_.error = failure_->message;
    return report_;
  }

 private:
  /// Nothing more will be delivered.
  bool has_all() const { return cut_off_ || machine_.finished(); }

  void record(const TimesliceBuilt& b) {
    const double spread = b.spread.to_microseconds();
    report_.delivered.add(b.timeslice);
    report_.ended = std::max(report_.ended, b.completed);
    // An incomplete timeslice says nothing about the schedule.
    if ((b.flags & bit(TimesliceFlag::missing_components)) == 0) {
      spreads_.add(spread);
      built_.add({b.completed.ticks(), b.timeslice.value(), spread});
    }
    spread_of_late_.add(spread);
    const std::uint64_t bytes = machine_.counters().bytes;
    const auto bucket = static_cast<std::size_t>(
        std::max<std::int64_t>(0, (b.completed - report_.started).ticks()) / report_.bucket_ns);
    if (bucket < buckets_kept) {
      report_.bytes_buckets.resize(std::max(report_.bytes_buckets.size(), bucket + 1), 0);
      report_.bytes_buckets[bucket] += bytes - counted_bytes_;
    }
    counted_bytes_ = bytes;
  }

  bool hand_over() {
    bool any = false;
    while (!waiting_.empty()) {
      const TimesliceIndex t = waiting_.front();
      if (sink_->has_room()) {
        sink_->submit(machine_.view(t, components_));
        ++with_sink_;
      } else if (skip_) {
        ++dropped_;
        machine_.release(t);
      } else {
        break;
      }
      waiting_.pop_front();
      any = true;
    }
    return any;
  }

  void end_sink() {
    if (!sink_ending_ && has_all() && waiting_.empty()) {
      sink_ending_ = true;
      sink_->finish();
    }
    // In this order: an error at its end is there when it has ended.
    sink_ended_ = sink_->finished();
    if (failure_) return;
    if (const auto error = sink_->failure()) failure_ = error;
  }

  ComputeConfig config_;
  bool skip_;
  MirroredArena rings_;
  std::vector<ContributionDescriptor> descriptors_;  // of all pairs, one ring behind the other
  ComputeMachine machine_;
  std::unique_ptr<SinkRunner> sink_;
  std::vector<ComponentView> components_;
  std::deque<TimesliceIndex> waiting_;  // delivered, no room at the sink; bounded by the rings
  std::vector<TimesliceIndex> released_;
  std::size_t with_sink_ = 0;
  bool cut_off_ = false;
  bool sink_ending_ = false;
  bool sink_ended_ = false;  // and its failure is known
  std::uint64_t dropped_ = 0;
  std::uint64_t counted_bytes_ = 0;
  std::optional<Error> failure_;
  report::Decimated<double> spreads_;
  report::Decimated<NodeReport::Built> built_;
  report::Decimated<NodeReport::Fill> fills_;
  MedianOfLate spread_of_late_{spreads_kept};
  MeanOfLate fill_of_late_;
  Rng first_sampled_{1};
  std::uint32_t next_sampled_ = 0;
  NodeReport report_;
};

Result<std::vector<PairMemory>> expose_pairs(const MirroredArena& rings,
                                             std::span<ContributionDescriptor> descriptors,
                                             std::size_t pairs, Fabric& fabric) {
  std::vector<PairMemory> memory;
  memory.reserve(pairs);
  const std::size_t slots_each = descriptors.size() / pairs;
  for (std::size_t i = 0; i < pairs; ++i) {
    const RingView ring = rings.ring(i % rings.count());
    const auto own = std::as_writable_bytes(descriptors.subspan(i * slots_each, slots_each));
    PairMemory pair{.data = {ring.memory().data(), ring.size()}, .descriptors = own};
    auto data = fabric.expose(ring.memory());
    if (!data) return std::move(data).error();
    auto slots = fabric.expose(own);
    if (!slots) return std::move(slots).error();
    pair.data_region = data->remote;
    pair.descriptor_region = slots->remote;
    memory.push_back(pair);
  }
  return memory;
}

}  // namespace

SinkPlace sink_place(const StreamOptions& options, std::uint32_t self, bool restarted) {
  return {.compute = self,
          .computes = options.computes,
          .inputs = options.inputs,
          .microslices_per_timeslice = options.microslices_per_timeslice,
          .seed = options.seed,
          .replaces_files = options.replaces_files,
          .restarted = restarted,
          .run = options.run,
          .older_files = options.older_files};
}

Result<std::unique_ptr<StreamNode>> make_compute_node(const StreamOptions& options,
                                                      std::uint32_t self, bool restarted,
                                                      Fabric& fabric) {
  const SinkPlace place = sink_place(options, self, restarted);
  auto sink = options.make_sink ? options.make_sink(place) : open_sinks(options.sinks, place);
  if (!sink) return Error{sink.error().code, fmt::format("--sink: {}", sink.error().message)};
  const std::uint32_t count = options.one_ring ? 1 : options.inputs;
  const ByteCount touched(options.touched_buffers.value() / count);
  auto rings = MirroredArena::create(count, ring_size_for(options.buffer), "weft-pairs",
                                     {.touched = touched});
  if (!rings) return std::move(rings).error();
  std::vector<ContributionDescriptor> descriptors(std::size_t{options.inputs} *
                                                  options.descriptors);
  auto memory = expose_pairs(*rings, descriptors, options.inputs, fabric);
  if (!memory) return std::move(memory).error();

  const bool in_loop = options.sink_in_loop || !(*sink)->blocks();
  auto runner =
      in_loop ? run_sink_in_loop(std::move(sink).value(), options.sink_depth)
              : run_sink_in_thread(std::move(sink).value(), options.sink_depth, options.inputs);
  ComputeConfig config;
  config.roster = {options.inputs, options.computes};
  config.self = self;
  config.restarted = restarted;
  config.microslices_per_timeslice = options.microslices_per_timeslice;
  config.late_after = options.late_after;
  config.give_up_after = options.give_up_after;
  config.control_level = options.control_level;
  // dfs takes a Credit for the acknowledgement whose time it measures.
  if (options.schedule != "dfs") config.credit_delay = credit_delay;
  return std::unique_ptr<StreamNode>(std::make_unique<ComputeNode>(
      options, config, std::move(rings).value(), std::move(descriptors), std::move(memory).value(),
      std::move(runner), restarted));
}

NodeFactory stream_node_factory(const StreamOptions& options) {
  return [&options](NodeId self, bool restarted, Fabric& fabric, Instant now) {
    const Roster roster{options.inputs, options.computes};
    if (roster.is_input(self)) {
      return make_input_node(options, self.value(), restarted, fabric, now);
    }
    return make_compute_node(options, roster.compute_index(self), restarted, fabric);
  };
}

}  // namespace weft::stream
