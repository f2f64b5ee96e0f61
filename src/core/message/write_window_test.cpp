// SPDX-License-Identifier: Apache-2.0
// Large messages on connections that they keep busy: what is sent later does not wait for them.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/message/pair_out.hpp"

namespace weft::message {
namespace {

constexpr FlowKey large{.generation = Generation(1), .tag = Tag(1)};
constexpr FlowKey small{.generation = Generation(1), .tag = Tag(2)};

/// One sender, whose fabric does as it is told.
class Sender {
 public:
  explicit Sender(std::size_t window, bool lossless = false)
      : options_{.nodes = 2,
                 .fabric = {.max_message = 4096, .max_write = 1000, .write_window = window},
                 .eager_limit = 100},
        pair_(options_, NodeId(1), bodies_, operations_) {
    pair_.connected({.granted = 1 << 20, .is_lossless = lossless});
  }
  void send(const FlowKey& flow, std::size_t size) {
    pair_.send(flow, std::span(memory_).first(size));
    pump();
  }
  void answer(std::size_t size) { ask(large, {1, 0, size}); }
  void ask(const FlowKey& flow, const RemoteRegion& region) {
    EXPECT_TRUE(
        pair_.on_get({.kind = FrameKind::get, .flow = flow, .serial = 0, .region = region}));
    pump();
  }
  /// The oldest write is over.
  void write_over() {
    pair_.on_write_over(Instant(), writes_.front() & ~write_context);
    writes_.erase(writes_.begin());
    pump();
  }
  /// Returns the operations posted since the last call: 'w' and the size of a write, or a frame's
  /// kind.
  std::string posted() { return std::exchange(posted_, {}); }

 private:
  void pump() {
    EXPECT_TRUE(pair_.pump(queue_));
    for (const TxOp& op : queue_.tx.view()) {
      if (op.kind == OpKind::write) {
        writes_.push_back(op.context);
        posted_ += "w" + std::to_string(op.size()) + " ";
      } else {
        posted_ += std::to_string(static_cast<int>(op.segments[0][0])) + " ";
      }
    }
    queue_.posted(queue_.tx.size());
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(4096);
  MessageOptions options_;
  BodyPool bodies_{ByteCount::mib(1)};
  Operations operations_;
  PairOut pair_;
  TransmitQueue queue_;
  std::vector<std::uint64_t> writes_;
  std::string posted_;
};

TEST(write_window, small_messages_and_announcements_overtake_the_rest_of_a_large_message) {
  Sender sender(1200);
  sender.send(large, 2000);
  EXPECT_EQ(sender.posted(), "3 ");
  sender.answer(2000);
  EXPECT_EQ(sender.posted(), "w600 w600 ");
  sender.send(small, 50);
  sender.send(large, 300);
  EXPECT_EQ(sender.posted(), "2 3 ");
  sender.write_over();
  EXPECT_EQ(sender.posted(), "w600 ");
  sender.write_over();
  EXPECT_EQ(sender.posted(), "w200 5 ");
}

TEST(write_window, a_small_message_that_was_asked_for_leaves_before_all_that_is_sent_later) {
  Sender sender(1200);
  sender.send(large, 2000);
  sender.answer(2000);
  sender.ask(small, {});
  EXPECT_EQ(sender.posted(), "3 w600 w600 ");
  sender.send(small, 50);
  sender.send(large, 300);
  EXPECT_EQ(sender.posted(), "2 3 ");
}

TEST(write_window, connections_that_carry_writes_beside_messages_get_all_at_once) {
  for (const bool lossless : {false, true}) {
    Sender sender(lossless ? 1200 : std::numeric_limits<std::size_t>::max(), lossless);
    sender.send(large, 2000);
    sender.answer(2000);
    EXPECT_EQ(sender.posted(), "3 w1000 w1000 5 ");
  }
}

/// A connection that always has more to write.
class Busy {
 public:
  explicit Busy(std::uint64_t least) {
    window_.begin(least);
    window_.over(now_, 0);
  }
  /// The window after so many more windows of writes, each over after `took`.
  std::uint64_t after(int windows, Duration took) {
    for (int i = 0; i < 2 * windows; ++i) {
      now_ = now_ + took / 2;
      window_.posted(window_.longest());
      window_.over(now_, window_.longest());
    }
    return 2 * window_.longest();
  }
  /// Nothing more to write, while the last write is not over.
  void rest(Duration time) {
    window_.posted(1);
    window_.rest();
    window_.over(now_, 1);
    now_ = now_ + time;
    window_.posted(1);
    window_.over(now_, 1);
  }

 private:
  WriteWindow window_;
  Instant now_;
};

TEST(write_window, grows_with_the_speed_of_the_connection_and_shrinks_to_what_it_began_with) {
  Busy connection(1000);
  EXPECT_EQ(connection.after(4, Duration::microseconds(499)), 16'000u);
  EXPECT_EQ(connection.after(4, Duration::milliseconds(1)), 16'000u);
  EXPECT_EQ(connection.after(2, Duration::milliseconds(5)), 4000u);
  EXPECT_EQ(connection.after(9, Duration::milliseconds(5)), 1000u);
  EXPECT_LE(connection.after(100, Duration::microseconds(1)), WriteWindow::most);
}

TEST(write_window, does_not_count_the_time_when_there_is_nothing_to_write) {
  Busy connection(1000);
  for (int i = 0; i < 4; ++i) {
    connection.after(1, Duration::microseconds(1));
    connection.rest(Duration::seconds(1));
  }
  EXPECT_EQ(connection.after(0, Duration{}), 16'000u);
}

}  // namespace
}  // namespace weft::message
