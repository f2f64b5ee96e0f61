// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "core/stream/input_machine.hpp"
#include "runtime/memory/mirrored_ring.hpp"
#include "stream/node/held_time.hpp"
#include "stream/node/ring_sizes.hpp"
#include "stream/node/schedules.hpp"
#include "stream/node/source_watch.hpp"
#include "stream/node/stream_node.hpp"

namespace weft::stream {
namespace {

/// Completed intervals kept for the report.
constexpr std::size_t intervals_kept = 4096;
/// The most that the thread for a source's files reads ahead.
constexpr ByteCount read_ahead = ByteCount::mib(8);
/// A job whose nodes leave one after the other has no majority for some milliseconds.
constexpr Duration worth_telling = Duration::milliseconds(200);

MirroredBytes bytes_of(const MirroredRing& ring) {
  return {ring.memory().data(), ring.memory().size()};
}

class InputNode final : public StreamNode {
 public:
  InputNode(const StreamOptions& options, const InputConfig& config, MirroredRing content,
            std::size_t room, MirroredRing descriptors, std::unique_ptr<Source> source)
      : config_(config),
        content_(std::move(content)),
        descriptors_(std::move(descriptors)),
        source_(std::move(source)),
        room_(room),
        buffer_(bytes_of(content_), bytes_of(descriptors_), room),
        machine_(config, buffer_, make_input_schedule(options, config.self)) {
    report_.node = NodeId(config.self);
  }

  void on_completion(Instant now, const Completion& completion) override {
    machine_.on_completion(now, completion);
  }

  bool work(Instant now, Outbox& out) override {
    if (cut_off_) return false;
    const std::size_t before = out.tx.size();
    const bool fed = feed(now);
    machine_.turn(now, out);
    if (machine_.failure() && !failure_) failure_ = machine_.failure();
    tell_of_waiting(now);
    for (const auto& interval : out.intervals.view()) {
      if (report_.intervals.size() < intervals_kept) report_.intervals.push_back(interval);
    }
    out.intervals.clear();
    if (report_.started == Instant::never() && machine_.view().number > 0) report_.started = now;
    if (machine_.consumed() != consumed_) {
      consumed_ = machine_.consumed();
      report_.ended = now;
    }
    return fed || out.tx.size() > before;
  }

  Instant next_deadline() const override {
    if (cut_off_) return Instant::never();
    const Instant due = std::min(machine_.next_deadline(), waited_.next_deadline());
    return machine_.source_may_run() ? std::min(due, feed_at_) : due;
  }
  std::vector<int> descriptors() const override { return {news_.descriptor()}; }
  void stop() override { machine_.stop(); }
  void cut_off() override { cut_off_ = true; }
  void do_without(NodeId node) override { machine_.do_without(node); }
  bool started() const override { return report_.started != Instant::never(); }
  bool began_stream() const override { return machine_.began_stream(); }
  bool finished() const override { return cut_off_ || machine_.finished(); }
  const std::optional<Error>& failure() const override { return failure_; }
  void sample(Instant) override {}
  StreamProgress progress() override { return {}; }
  std::string describe() const override { return machine_.describe(); }

  NodeReport report() override {
    report_.sent_below = std::min(machine_.consumed(), machine_.view().end).value();
    report_.built_by = machine_.built_by();
    report_.sent_bytes = machine_.counters().bytes;
    report_.credit_waits = machine_.counters().credit_waits;
    report_.waited_for_majority = waited_.total();
    report_.repeated_contributions = machine_.counters().repeated;
    if (failure_) report_.error = failure_->message;
    return report_;
  }

 private:
  /// Lets the source fill the buffer. Returns whether it did.
  bool feed(Instant now) {
    if (const auto seek = machine_.take_seek()) {
      ended_ = false;
      feed_at_ = now;
      news_.wait_for(-1);
      if (const auto sought = source_->seek(*seek); !sought) failure_ = sought.error();
    }
    if (ended_ || failure_ || !machine_.source_may_run()) return false;
    if (now < feed_at_ && !news_.has_news()) return false;
    const std::uint64_t before = buffer_.next();
    const auto state = source_->produce(now, buffer_);
    if (!state) {
      failure_ = state.error();
      return false;
    }
    ended_ = state->ended;
    if (ended_) machine_.on_source_ended();
    news_.wait_for(ended_ ? -1 : state->descriptor);
    // A full buffer is fed again when something was consumed, which is an event of its own.
    const bool full = buffer_.next() == before && state->again_at <= now && state->descriptor < 0;
    feed_at_ = ended_ || full ? Instant::never() : state->again_at;
    if (full) feed_at_ = now + Duration::microseconds(200);
    if (full && machine_.needs_more_room()) failure_ = too_small();
    return buffer_.next() != before;
  }

  void tell_of_waiting(Instant now) {
    const bool waits = machine_.waits_for_majority();
    if (!waited_.hear(now, waits)) return;
    if (waits) {
      spdlog::warn(
          "this part of the job has no majority of its {} input nodes: waiting for more "
          "(--quorum none would go on)",
          config_.roster.inputs);
    } else {
      spdlog::warn("the job has a majority of its input nodes again");
    }
  }

  Error too_small() const {
    return invalid(
        "--input-buffer: {} bytes do not hold the {} microslices that input {} needs for timeslice "
        "{}: raise it",
        room_, config_.microslices_per_timeslice + config_.overlap_microslices, config_.self,
        machine_.consumed().value());
  }

  InputConfig config_;
  MirroredRing content_;
  MirroredRing descriptors_;
  std::unique_ptr<Source> source_;
  std::size_t room_;  // bytes that the buffer may hold
  InputBuffer buffer_;
  InputMachine machine_;
  bool ended_ = false;
  bool cut_off_ = false;
  Instant feed_at_{};
  SourceWatch news_;
  TimesliceIndex consumed_{};
  HeldTime waited_{worth_telling};  // for a majority
  std::optional<Error> failure_;
  NodeReport report_;
};

}  // namespace

Result<std::unique_ptr<StreamNode>> make_input_node(const StreamOptions& options,
                                                    std::uint32_t self, bool restarted,
                                                    const Fabric& fabric, Instant now) {
  const SourcePlace place{.input = self,
                          .inputs = options.inputs,
                          .microslices_per_timeslice = options.microslices_per_timeslice,
                          .seed = options.seed,
                          .read_ahead = options.source_in_loop ? ByteCount{} : read_ahead};
  auto source =
      options.make_source ? options.make_source(place) : open_source(options.source, place);
  if (!source)
    return Error{source.error().code, fmt::format("--source: {}", source.error().message)};
  const ByteCount room = ring_size_for(input_buffer_bytes(options));
  // If contents are lost at the other end, they need no place of their own here either.
  const ByteCount memory = options.one_ring ? std::min(room, ring_size_for(options.buffer)) : room;
  const RingOptions touched{.touched = options.touched_buffers};
  auto content = MirroredRing::create(memory, "weft-input", touched);
  if (!content) return std::move(content).error();
  auto descriptors = MirroredRing::create(ring_size_for(microslice_ring_bytes(options)),
                                          "weft-microslices", touched);
  if (!descriptors) return std::move(descriptors).error();

  InputConfig config;
  config.roster = {options.inputs, options.computes};
  config.self = self;
  config.restarted = restarted;
  config.microslices_per_timeslice = options.microslices_per_timeslice;
  config.overlap_microslices = options.overlap_microslices;
  if (options.timeslices > 0) config.end = TimesliceIndex(options.timeslices);
  config.start_by = now + options.start_timeout;
  config.promise_timeout = options.peer_timeout;
  config.majority_only = options.quorum == Quorum::majority;
  config.stall_timeout = options.stall_timeout;
  config.data_level = options.data_level;
  config.control_level = options.control_level;
  config.largest_contribution = std::min(largest_contribution, fabric.limits().max_write);
  config.window = std::size_t{2} * options.descriptors * (options.computes + 1);
  return std::unique_ptr<StreamNode>(std::make_unique<InputNode>(
      options, config, std::move(content).value(), static_cast<std::size_t>(room.value()),
      std::move(descriptors).value(), std::move(source).value()));
}

}  // namespace weft::stream
