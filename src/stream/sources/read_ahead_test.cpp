// SPDX-License-Identifier: Apache-2.0
#include "stream/sources/read_ahead.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "stream/sources/collecting_writer.hpp"
#include "stream/sources/feed_source.hpp"
#include "wire/archive/golden.hpp"

namespace weft {
namespace {

using wire::TestDirectory;
using wire::write_whole;

constexpr std::size_t microslice_bytes = 100;

/// A disk that a test stops and lets go.
class Gate {
 public:
  void shut() { set(false); }
  void open() { set(true); }
  void pass() {
    std::unique_lock lock(mutex_);
    is_waited_at_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return is_open_; });
    is_waited_at_ = false;
  }
  void wait_until_somebody_waits() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_waited_at_ && !is_open_; });
  }

 private:
  void set(bool open) {
    const std::lock_guard lock(mutex_);
    is_open_ = open;
    changed_.notify_all();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = true;
  bool is_waited_at_ = false;
};

/// Microslices that hold their number, read through the gate.
class SlowFeed final : public MicrosliceFeed {
 public:
  SlowFeed(std::uint64_t count, std::shared_ptr<Gate> gate) : count_(count), gate_(gate) {}
  std::atomic<std::uint64_t> reads{0};
  std::uint64_t fails_at = UINT64_MAX;

  Result<std::optional<NextMicroslice>> peek() override {
    if (next_ == fails_at) return Error{ErrorCode::io, "'disk': it has a scratch"};
    if (next_ == count_) return std::optional<NextMicroslice>();
    return std::optional(NextMicroslice{.size = microslice_bytes, .index = next_ * 10});
  }
  Result<MicrosliceDescriptor> take(std::span<std::byte> content) override {
    gate_->pass();
    std::fill(content.begin(), content.end(), static_cast<std::byte>(next_++));
    ++reads;
    return MicrosliceDescriptor{};
  }
  Result<void> drop() override {
    ++next_;
    return {};
  }
  Result<void> rewind() override {
    next_ = 0;
    return {};
  }

 private:
  std::uint64_t count_;
  std::shared_ptr<Gate> gate_;
  std::uint64_t next_ = 0;
};

struct SlowDisk {
  std::shared_ptr<Gate> gate = std::make_shared<Gate>();
  SlowFeed* feed = nullptr;

  FeedSource source(std::uint64_t count, FeedOptions options = {}, ByteCount most = ByteCount(250),
                    std::uint64_t fails_at = UINT64_MAX) {
    auto slow = std::make_unique<SlowFeed>(count, gate);
    feed = slow.get();
    feed->fails_at = fails_at;
    return {std::make_unique<ReadAheadFeed>(std::move(slow), most), options, "slow:"};
  }
};

std::vector<int> numbers(const std::vector<CollectedMicroslice>& microslices) {
  std::vector<int> found;
  for (const auto& m : microslices) found.push_back(std::to_integer<int>(m.content.at(0)));
  return found;
}

TEST(read_ahead, a_disk_that_stands_still_stops_nobody_who_asks) {
  SlowDisk disk;
  disk.gate->shut();
  FeedSource source = disk.source(3);
  CollectingWriter writer;
  disk.gate->wait_until_somebody_waits();
  const auto state = source.produce(Instant{}, writer);  // returns
  ASSERT_TRUE(state);
  EXPECT_FALSE(state->ended);
  EXPECT_EQ(state->again_at, Instant::never());
  EXPECT_GE(state->descriptor, 0);
  EXPECT_TRUE(writer.microslices.empty());
  disk.gate->open();
  const auto all = collect(source);  // waits for the descriptor
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(numbers(*all), (std::vector{0, 1, 2}));
}

TEST(read_ahead, no_more_is_read_than_was_allowed) {
  SlowDisk disk;
  FeedSource source = disk.source(50);
  for (std::uint64_t taken = 1; taken <= 50; ++taken) {
    const auto one = collect(source, 1);
    ASSERT_TRUE(one);
    ASSERT_EQ(one->size(), 1u);
    // 250 bytes are begun to be filled up as long as they are not full.
    EXPECT_LE(disk.feed->reads, taken + 3);
  }
}

TEST(read_ahead, an_error_comes_where_the_feed_has_it) {
  SlowDisk disk;
  FeedSource source = disk.source(50, {}, ByteCount::mib(1), 7);
  const auto before = collect(source, 6);
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_EQ(before->size(), 6u);
  const auto after = collect(source);
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().code, ErrorCode::io);
  EXPECT_EQ(after.error().message, "'disk': it has a scratch");
}

TEST(read_ahead, loops_and_strides_are_the_same) {
  SlowDisk disk;
  FeedSource source = disk.source(5, {.rate = {}, .loop = 3, .stride = 2});
  const auto all = collect(source);
  ASSERT_TRUE(all);
  EXPECT_EQ(numbers(*all), (std::vector{0, 2, 4, 0, 2, 4, 0, 2, 4}));
  for (std::size_t m = 1; m < all->size(); ++m) {
    EXPECT_EQ((*all)[m].descriptor.index, m * 20) << m;
  }
}

TEST(read_ahead, what_is_read_while_the_source_seeks_is_dropped) {
  SlowDisk disk;
  disk.gate->shut();
  FeedSource source = disk.source(20);
  disk.gate->wait_until_somebody_waits();
  ASSERT_TRUE(source.seek(12));  // number 0 is being read
  disk.gate->open();
  auto rest = collect(source);
  ASSERT_TRUE(rest);
  EXPECT_EQ(numbers(*rest), (std::vector{12, 13, 14, 15, 16, 17, 18, 19}));
  ASSERT_TRUE(source.seek(18));
  rest = collect(source);
  ASSERT_TRUE(rest);
  EXPECT_EQ(numbers(*rest), (std::vector{18, 19}));
}

TEST(read_ahead, a_read_that_never_comes_back_keeps_nobody) {
  SlowDisk disk;
  disk.gate->shut();
  {
    FeedSource source = disk.source(3);
    disk.gate->wait_until_somebody_waits();
  }
  disk.gate->open();  // the thread frees its memory
}

class ReadAheadOfFiles : public testing::TestWithParam<const char*> {};

TEST_P(ReadAheadOfFiles, yields_what_reading_in_the_loop_yields) {
  const TestDirectory directory;
  write_whole(directory / "packets.pcap", wire::golden("packets.pcap"));
  write_whole(directory / "microslices.msa", wire::golden("microslices.msa"));
  write_whole(directory / "timeslices.tsa", wire::golden("timeslices.tsa"));
  std::string uri = GetParam();
  uri.insert(uri.find(':') + 1, directory / "");
  SourcePlace place{.input = 0, .inputs = 1};
  const auto expected = collect(uri, place);
  place.read_ahead = ByteCount(64);
  const auto read = collect(uri, place);
  ASSERT_TRUE(expected) << expected.error().message;
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), expected->size());
  EXPECT_GT(read->size(), 0u);
  for (std::size_t m = 0; m < read->size(); ++m) {
    EXPECT_EQ((*read)[m].content, (*expected)[m].content) << m;
    EXPECT_EQ((*read)[m].descriptor.index, (*expected)[m].descriptor.index) << m;
    EXPECT_EQ((*read)[m].descriptor.crc, (*expected)[m].descriptor.crc) << m;
  }
}

INSTANTIATE_TEST_SUITE_P(of, ReadAheadOfFiles,
                         testing::Values("file:packets.pcap?cut=100", "file:packets.pcap?loop=3",
                                         "pcap:packets.pcap?cut=1KiB", "msa:microslices.msa?loop=2",
                                         "tsa:timeslices.tsa?stride=2"));

}  // namespace
}  // namespace weft
