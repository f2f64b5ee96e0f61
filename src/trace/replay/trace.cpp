// SPDX-License-Identifier: Apache-2.0
#include "trace/replay/trace.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include "base/crc32c.hpp"
#include "base/make_error.hpp"
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

namespace fs = std::filesystem;

/// The files of a trace, in an order that does not depend on the directory's.
std::vector<fs::path> files_of_trace(const fs::path& path) {
  std::vector<fs::path> files = {path};
  if (path.extension() != ".otf2") return files;
  fs::path definitions = path;
  files.push_back(definitions.replace_extension(".def"));
  fs::path events = path;
  std::error_code error;
  for (fs::directory_iterator entry(events.replace_extension(), error), end; !error && entry != end;
       entry.increment(error)) {
    files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<std::uint32_t> checksum_of_trace(const std::string& path) {
  std::uint32_t sum = 0;
  std::vector<char> part(1 << 20);
  for (const fs::path& file : files_of_trace(path)) {
    std::error_code error;
    if (!fs::is_regular_file(file, error)) continue;
    std::ifstream in(file, std::ios::binary);
    while (in.read(part.data(), static_cast<std::streamsize>(part.size())) || in.gcount() > 0) {
      sum =
          crc32c(std::as_bytes(std::span(part.data(), static_cast<std::size_t>(in.gcount()))), sum);
    }
    if (!in.is_open() || in.bad()) {
      return make_error(ErrorCode::io, "cannot read '{}', a part of a trace", file.string());
    }
  }
  return sum;
}

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
