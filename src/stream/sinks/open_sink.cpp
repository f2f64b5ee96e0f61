// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/check.hpp"
#include "stream/shm/shm_sink.hpp"
#include "stream/sinks/check_sink.hpp"
#include "stream/sinks/counting.hpp"
#include "stream/sinks/sinks.hpp"
#include "stream/sinks/tee_sink.hpp"
#include "stream/uri.hpp"
#include "weft/sink.hpp"

namespace weft {
namespace {

class NullSink final : public Sink {
 public:
  Result<void> consume(const TimesliceView& timeslice) override {
    count_timeslice(summary_, timeslice);
    return {};
  }
  bool blocks() const override { return false; }
  SinkSummary summary() const override { return summary_; }

 private:
  SinkSummary summary_;
};

Result<void> expect_bare(const Uri& uri) {
  if (!uri.path().empty()) {
    return uri.error(fmt::format("takes no path; write {}:", uri.scheme()));
  }
  return uri.allow({});
}

}  // namespace

Result<std::unique_ptr<Sink>> open_sink(std::string_view text, const SinkPlace& place) {
  WEFT_CHECK(place.compute < place.computes && place.microslices_per_timeslice > 0);
  // These two have a syntax of their own behind the scheme.
  if (text.starts_with("exec:")) return make_exec_sink(text.substr(5), place);
  if (text.starts_with("shm:")) return open_shm_sink(text.substr(4), place);
  const auto uri = Uri::parse(text);
  if (!uri) return uri.error();
  if (uri->scheme() == "tsa") return make_archive_sink(*uri, place);
  if (uri->scheme() == "file") return make_file_sink(*uri, place);
  if (uri->scheme() != "check" && uri->scheme() != "null") {
    return uri->error("unknown sink; known are check:, tsa:, file:, null:, exec:, shm:");
  }
  if (auto bare = expect_bare(*uri); !bare) return std::move(bare).error();
  if (uri->scheme() == "null") return std::unique_ptr<Sink>(std::make_unique<NullSink>());
  return std::unique_ptr<Sink>(std::make_unique<CheckSink>(place));
}

Result<std::unique_ptr<Sink>> open_sinks(std::span<const std::string> uris,
                                         const SinkPlace& place) {
  if (uris.empty()) return open_sink("null:", place);
  if (uris.size() == 1) return open_sink(uris[0], place);
  std::vector<std::unique_ptr<Sink>> sinks;
  for (const std::string& uri : uris) {
    auto sink = open_sink(uri, place);
    if (!sink) return sink;
    sinks.push_back(std::move(*sink));
  }
  return std::unique_ptr<Sink>(std::make_unique<TeeSink>(std::move(sinks)));
}

}  // namespace weft
