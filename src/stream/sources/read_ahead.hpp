// SPDX-License-Identifier: Apache-2.0
// ReadAheadFeed: a feed whose files a thread of its own reads, so that a slow disk stops nobody
// else.
#pragma once

#include <memory>
#include <thread>

#include "stream/sources/feed.hpp"
#include "weft/ids.hpp"

namespace weft {

/// Yields the microslices of the feed behind it, in the same order and with the same errors. The
/// thread reads at most `most` bytes ahead, or one microslice if that is larger; then it waits
/// until some were taken.
///
/// The feed behind is the thread's alone from here on. Destroying this waits half a second for a
/// read that is under way; a thread that a dead disk holds for longer is left behind and frees the
/// feed when it comes back.
class ReadAheadFeed final : public MicrosliceFeed {
 public:
  ReadAheadFeed(std::unique_ptr<MicrosliceFeed> feed, ByteCount most);
  ~ReadAheadFeed() override;

  bool is_ready() override;
  int descriptor() const override;
  Result<std::optional<NextMicroslice>> peek() override;
  Result<MicrosliceDescriptor> take(std::span<std::byte> content) override;
  Result<void> drop() override;
  /// Its error, if there is one, comes with the next microslice.
  Result<void> rewind() override;
  Result<void> can_go_back() const override { return can_go_back_; }
  bool jump(std::uint64_t n) override;

 private:
  struct Shared;  // of the feed and its thread
  static void read(const std::shared_ptr<Shared>& shared);
  void move_to(std::optional<std::uint64_t> number);

  bool jumps_;
  Result<void> can_go_back_;  // found out while the feed was nobody's
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace weft
