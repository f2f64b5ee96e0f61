// SPDX-License-Identifier: Apache-2.0
#include "trace/replay/trace.hpp"

#include <utility>

#include "trace/events/examine.hpp"
#include "trace/otf2/otf2_trace.hpp"
#include "trace/replay/graph_feed.hpp"
#include "trace/replay/stream_feed.hpp"

namespace weft::trace {
namespace {

class GoalGraph final : public Trace {
 public:
  explicit GoalGraph(GoalTrace trace) : trace_(std::move(trace)) {}
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(trace_.ranks.size()); }
  Result<Summary> examine() override { return summary_of(trace_); }
  Result<std::unique_ptr<sim::Feed>> feed(double compute_factor) const override {
    return std::unique_ptr<sim::Feed>(std::make_unique<GraphFeed>(trace_, compute_factor));
  }
  Result<void> state_of(const sim::Feed&) const override { return {}; }

 private:
  GoalTrace trace_;
};

/// A feed that owns the stream that it reads.
class OwningFeed final : public sim::Feed {
 public:
  OwningFeed(std::unique_ptr<EventStream> stream, double compute_factor)
      : stream_(std::move(stream)), feed_(*stream_, compute_factor) {}
  std::uint32_t ranks() const override { return feed_.ranks(); }
  sim::Action next(std::uint32_t rank) override { return feed_.next(rank); }
  void on_completed(std::uint32_t rank, std::uint32_t request) override {
    feed_.on_completed(rank, request);
  }
  const std::optional<Error>& error() const { return feed_.error(); }

 private:
  std::unique_ptr<EventStream> stream_;
  StreamFeed feed_;
};

class Otf2Archive final : public Trace {
 public:
  Otf2Archive(std::string path, std::uint32_t ranks) : path_(std::move(path)), ranks_(ranks) {}
  std::uint32_t ranks() const override { return ranks_; }
  Result<Summary> examine() override {
    auto stream = open_otf2(path_);
    if (!stream) return std::move(stream).error();
    return trace::examine(**stream, path_);
  }
  Result<std::unique_ptr<sim::Feed>> feed(double compute_factor) const override {
    auto stream = open_otf2(path_);
    if (!stream) return std::move(stream).error();
    return std::unique_ptr<sim::Feed>(
        std::make_unique<OwningFeed>(std::move(stream).value(), compute_factor));
  }
  Result<void> state_of(const sim::Feed& feed) const override {
    const auto& error = static_cast<const OwningFeed&>(feed).error();
    return error ? Result<void>(*error) : Result<void>();
  }

 private:
  std::string path_;
  std::uint32_t ranks_;
};

}  // namespace

Result<std::unique_ptr<Trace>> open_trace(const std::string& path) {
  if (path.ends_with(".otf2")) {
    const auto stream = open_otf2(path);
    if (!stream) return stream.error();
    return std::unique_ptr<Trace>(std::make_unique<Otf2Archive>(path, (*stream)->ranks()));
  }
  auto goal = read_goal(path);
  if (!goal) return std::move(goal).error();
  return std::unique_ptr<Trace>(std::make_unique<GoalGraph>(std::move(goal).value()));
}

Result<ReplayOutcome> replay_trace(Trace& trace, double compute_factor,
                                   const ReplayOptions& options) {
  auto feed = trace.feed(compute_factor);
  if (!feed) return std::move(feed).error();
  auto outcome = replay(**feed, options);
  if (auto good = trace.state_of(**feed); !good) return good.error();
  return outcome;
}

}  // namespace weft::trace
