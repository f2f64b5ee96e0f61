// SPDX-License-Identifier: Apache-2.0
// Turns a feed into a Source: pace, loops, strides, and a bounded amount of work per call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "stream/sources/feed.hpp"
#include "stream/sources/pace.hpp"
#include "weft/source.hpp"

namespace weft {

struct FeedOptions {
  Rate rate;
  std::uint64_t loop = 1;    ///< how often the feed is played; 0: for ever
  std::uint64_t stride = 1;  ///< only each stride-th microslice
};

class FeedSource final : public Source {
 public:
  /// `name` stands for the source in errors.
  FeedSource(std::unique_ptr<MicrosliceFeed> feed, FeedOptions options, std::string name);

  Result<SourceState> produce(Instant now, MicrosliceWriter& out) override;
  /// Rewinds the feed only to go back.
  Result<void> seek(std::uint64_t first) override;

 private:
  enum class Outlook : std::uint8_t { microslice, end, not_ready };
  /// Finds the next microslice that is not skipped. Does at most about `budget` microslices' work.
  Result<Outlook> look_ahead(int& budget);
  /// At the end of the feed: false when it is not to be played again.
  Result<bool> begin_next_loop();
  /// Goes on from a microslice that was taken or dropped.
  void advance(std::uint64_t index);
  SourceState wait() const;
  Error too_large(std::uint64_t size, std::size_t capacity) const;

  std::unique_ptr<MicrosliceFeed> feed_;
  FeedOptions options_;
  std::string name_;
  Pace pace_;
  NextMicroslice next_;        ///< with its time moved behind the loops before it
  std::uint64_t number_ = 0;   ///< of the microslice that comes next
  std::uint64_t seek_to_ = 0;  ///< microslices before it are dropped
  std::uint64_t skip_ = 0;     ///< of the feed's, between two of a stride
  bool ended_ = false;         ///< the last loop is over
  std::uint64_t loops_done_ = 0;
  std::uint64_t in_this_loop_ = 0;
  std::uint64_t loop_shift_ = 0;  ///< added to the feed's times
  std::uint64_t loop_first_ = 0;  ///< times within the loop, as the feed gives them
  std::uint64_t loop_last_ = 0;
  std::uint64_t loop_step_ = 1;
};

}  // namespace weft
