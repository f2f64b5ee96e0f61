// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/feed_source.hpp"

#include "base/make_error.hpp"
#include "base/units.hpp"

namespace weft {
namespace {

/// About a millisecond of copying and checksumming.
constexpr std::uint64_t bytes_per_call = 2 << 20;
constexpr int microslices_per_call = 1'024;

}  // namespace

FeedSource::FeedSource(std::unique_ptr<MicrosliceFeed> feed, FeedOptions options, std::string name)
    : feed_(std::move(feed)), options_(options), name_(std::move(name)), pace_(options.rate) {}

Result<FeedSource::Outlook> FeedSource::look_ahead(int& budget) {
  if (ended_) return Outlook::end;
  while (budget > 0) {
    if (!feed_->is_ready()) return Outlook::not_ready;
    const auto next = feed_->peek();
    if (!next) return next.error();
    if (!*next) {
      const auto again = begin_next_loop();
      if (!again) return again.error();
      if (!*again) {
        ended_ = true;
        return Outlook::end;
      }
      continue;
    }
    next_ = **next;
    next_.index += loop_shift_;
    if (skip_ == 0 && number_ >= seek_to_) return Outlook::microslice;
    --budget;
    if (auto dropped = feed_->drop(); !dropped) return std::move(dropped).error();
    if (skip_ > 0) {
      --skip_;
    } else {
      advance(next_.index);
    }
  }
  return Outlook::not_ready;
}

Result<bool> FeedSource::begin_next_loop() {
  ++loops_done_;
  skip_ = 0;
  // A feed without anything in it ends however often it is to be repeated.
  if (loops_done_ == options_.loop || in_this_loop_ == 0) return false;
  loop_shift_ += loop_last_ - loop_first_ + loop_step_;
  in_this_loop_ = 0;
  if (auto rewound = feed_->rewind(); !rewound) return std::move(rewound).error();
  return true;
}

void FeedSource::advance(std::uint64_t index) {
  const std::uint64_t in_feed = index - loop_shift_;
  if (in_this_loop_ == 0) {
    loop_first_ = in_feed;
  } else if (in_feed > loop_last_) {
    loop_step_ = in_feed - loop_last_;
  }
  loop_last_ = in_feed;
  ++in_this_loop_;
  ++number_;
  skip_ = options_.stride - 1;
}

SourceState FeedSource::wait() const {
  return {.again_at = Instant::never(), .descriptor = feed_->descriptor()};
}

Error FeedSource::too_large(std::uint64_t size, std::size_t capacity) const {
  return invalid(
      "--source '{}': microslice {} of {} does not fit the input's buffer, which takes {} at most; "
      "use smaller microslices, or raise --input-buffer",
      name_, number_, to_text(ByteCount(size)), to_text(ByteCount(capacity)));
}

Result<SourceState> FeedSource::produce(Instant now, MicrosliceWriter& out) {
  std::uint64_t bytes = 0;
  int budget = microslices_per_call;
  while (budget > 0 && bytes < bytes_per_call) {
    const auto outlook = look_ahead(budget);
    if (!outlook) return outlook.error();
    if (*outlook == Outlook::end) return SourceState{.ended = true};
    if (*outlook == Outlook::not_ready) {
      if (budget > 0) return wait();
      // Nothing but skipped so far, and not for lack of room.
      return SourceState{.again_at = now + Duration::nanoseconds(1)};
    }
    const Instant due = pace_.due(now, next_.index);
    if (due > now) return SourceState{.again_at = due};
    if (next_.size > out.capacity()) return too_large(next_.size, out.capacity());
    const std::span<std::byte> content = out.reserve(next_.size);
    if (content.data() == nullptr) return SourceState{.again_at = now};
    auto descriptor = feed_->take(content);
    if (!descriptor) return std::move(descriptor).error();
    descriptor->index = next_.index;
    out.commit(*descriptor);
    pace_.advance();
    bytes += next_.size;
    --budget;
    advance(next_.index);
  }
  return SourceState{.again_at = now};
}

Result<void> FeedSource::seek(std::uint64_t first) {
  pace_.restart();
  seek_to_ = first;
  const bool jumped = options_.loop == 1 && feed_->jump(first * options_.stride);
  // Forward, what lies between is dropped: a pipe has no other way, and from the start of a long
  // file there might be no catching up.
  if (!jumped && first >= number_) return {};
  if (!jumped) {
    if (auto can = feed_->can_go_back(); !can) return can;
    if (auto rewound = feed_->rewind(); !rewound) return rewound;
  }
  number_ = jumped ? first : 0;
  loops_done_ = in_this_loop_ = loop_shift_ = skip_ = 0;
  loop_step_ = 1;
  ended_ = false;
  return {};
}

}  // namespace weft
