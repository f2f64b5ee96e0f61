// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/feed_source.hpp"

#include <fmt/format.h>

#include "base/units.hpp"

namespace weft {
namespace {

/// About a millisecond of copying and checksumming.
constexpr std::uint64_t bytes_per_call = 2 << 20;
constexpr int microslices_per_call = 1'024;

}  // namespace

FeedSource::FeedSource(std::unique_ptr<MicrosliceFeed> feed, FeedOptions options, std::string name)
    : feed_(std::move(feed)), options_(options), name_(std::move(name)), pace_(options.rate) {}

Result<std::optional<NextMicroslice>> FeedSource::next() {
  for (;;) {
    auto next = feed_->peek();
    if (!next) return next;
    if (*next) {
      (*next)->index += loop_shift_;
      return next;
    }
    ++loops_done_;
    // A feed without anything in it ends however often it is to be repeated.
    if (loops_done_ == options_.loop || in_this_loop_ == 0) return next;
    loop_shift_ += loop_last_ - loop_first_ + loop_step_;
    in_this_loop_ = 0;
    if (auto rewound = feed_->rewind(); !rewound) return std::move(rewound).error();
  }
}

Result<void> FeedSource::advance(std::uint64_t index) {
  const std::uint64_t in_feed = index - loop_shift_;
  if (in_this_loop_ == 0) {
    loop_first_ = in_feed;
  } else if (in_feed > loop_last_) {
    loop_step_ = in_feed - loop_last_;
  }
  loop_last_ = in_feed;
  ++in_this_loop_;
  ++number_;
  for (std::uint64_t skipped = 1; skipped < options_.stride; ++skipped) {
    const auto more = feed_->peek();
    if (!more) return more.error();
    if (!*more) break;
    if (auto dropped = feed_->drop(); !dropped) return dropped;
  }
  return {};
}

Error FeedSource::too_large(std::uint64_t size, std::size_t capacity) const {
  return {ErrorCode::invalid_argument,
          fmt::format("'{}': microslice {} of {} does not fit the input's buffer, which takes {} "
                      "at most; use smaller microslices or a larger buffer",
                      name_, number_, to_text(ByteCount(size)), to_text(ByteCount(capacity)))};
}

Result<SourceState> FeedSource::produce(Instant now, MicrosliceWriter& out) {
  std::uint64_t bytes = 0;
  for (int n = 0; n < microslices_per_call && bytes < bytes_per_call; ++n) {
    const auto upcoming = next();
    if (!upcoming) return upcoming.error();
    if (!*upcoming) return SourceState{.ended = true};
    const NextMicroslice microslice = **upcoming;
    const Instant due = pace_.due(now, microslice.index);
    if (due > now) return SourceState{.again_at = due};
    if (microslice.size > out.capacity()) return too_large(microslice.size, out.capacity());
    const std::span<std::byte> content = out.reserve(microslice.size);
    if (content.data() == nullptr) return SourceState{.again_at = now};
    auto descriptor = feed_->take(content);
    if (!descriptor) return std::move(descriptor).error();
    descriptor->index = microslice.index;
    out.commit(*descriptor);
    pace_.advance();
    bytes += microslice.size;
    if (auto advanced = advance(microslice.index); !advanced) return std::move(advanced).error();
  }
  return SourceState{.again_at = now};
}

Result<void> FeedSource::seek(std::uint64_t first) {
  if (auto rewound = feed_->rewind(); !rewound) return rewound;
  pace_.restart();
  number_ = loops_done_ = in_this_loop_ = loop_shift_ = 0;
  loop_step_ = 1;
  if (options_.loop == 1 && feed_->jump(first * options_.stride)) {
    number_ = first;
    return {};
  }
  while (number_ < first) {
    const auto upcoming = next();
    if (!upcoming) return upcoming.error();
    if (!*upcoming) return {};  // beyond the end: `produce` will say that it ended
    const std::uint64_t index = (*upcoming)->index;
    if (auto dropped = feed_->drop(); !dropped) return dropped;
    if (auto advanced = advance(index); !advanced) return advanced;
  }
  return {};
}

}  // namespace weft
