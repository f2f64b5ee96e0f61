// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "base/check.hpp"
#include "base/make_error.hpp"
#include "stream/sources/feed_source.hpp"
#include "stream/sources/feeds.hpp"
#include "stream/sources/read_ahead.hpp"
#include "weft/source.hpp"

namespace weft {
namespace {

Result<std::unique_ptr<MicrosliceFeed>> make_feed(const Uri& uri, const SourcePlace& place) {
  if (uri.scheme() == "pattern") return make_pattern_feed(uri, place);
  if (uri.scheme() == "file") return make_file_feed(uri, place);
  if (uri.scheme() == "msa" || uri.scheme() == "tsa") return make_archive_feed(uri, place);
  if (uri.scheme() == "pcap") return make_pcap_feed(uri, place);
  return uri.error("unknown source; known are pattern:, file:, msa:, tsa:, pcap:");
}

Result<FeedOptions> read_options(const Uri& uri) {
  FeedOptions options;
  const auto rate = Rate::parse(uri.get("rate", "max"));
  if (!rate) return uri.key_error("rate", rate.error().message);
  options.rate = *rate;
  if (uri.scheme() == "file" && rate->kind == Rate::Kind::native) {
    return uri.key_error("rate", "a file has no speed of its own; write max or 100Hz");
  }
  // These two make any microslice from its number, and do better than playing all before it.
  if (uri.scheme() == "pattern" || uri.scheme() == "file") return options;
  const auto loop = uri.number("loop", 1, 0, 1'000'000'000);
  if (!loop) return loop.error();
  const auto stride = uri.number("stride", 1, 1, 1'000'000'000);
  if (!stride) return stride.error();
  options.loop = *loop;
  options.stride = *stride;
  return options;
}

}  // namespace

Result<void> can_be_read_again(const std::string& path) {
  struct stat info {};
  const bool is_stream = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
  if (!is_stream) return {};
  return make_error(ErrorCode::unavailable,
                    "'{}': a pipe cannot go back to microslices that were read from it", path);
}

Result<std::unique_ptr<Source>> open_source(std::string_view text, const SourcePlace& place) {
  WEFT_CHECK(place.input < place.inputs && place.microslices_per_timeslice > 0);
  auto uri = Uri::parse(text);
  if (!uri) return std::move(uri).error();
  auto made = make_feed(*uri, place);
  if (!made) return std::move(made).error();
  std::unique_ptr<MicrosliceFeed> feed = std::move(made).value();
  const auto options = read_options(*uri);
  if (!options) return options.error();
  // A pattern is made as fast as it could be handed over.
  if (place.read_ahead != ByteCount{} && uri->scheme() != "pattern") {
    feed = std::make_unique<ReadAheadFeed>(std::move(feed), place.read_ahead);
  }
  return std::unique_ptr<Source>(
      std::make_unique<FeedSource>(std::move(feed), *options, std::string(text)));
}

}  // namespace weft
