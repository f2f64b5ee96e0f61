// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/operations.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::tcp {
namespace {

std::span<const std::byte> bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TxOp message(std::string_view first, std::string_view second, int level = 0) {
  TxOp op;
  op.segments = {bytes(first), bytes(second)};
  op.service_level = ServiceLevel(static_cast<std::uint8_t>(level));
  return op;
}

std::string joined(const SendQueue& queue, std::size_t skip, std::size_t limit = 100,
                   std::size_t pieces = 100) {
  std::vector<iovec> out(pieces);
  std::size_t total = 0;
  const std::size_t n = queue.gather(out, skip, limit, total);
  std::string text;
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_GT(out[i].iov_len, 0u);
    text.append(static_cast<const char*>(out[i].iov_base), out[i].iov_len);
  }
  EXPECT_EQ(text.size(), total);
  return text;
}

std::string header_of(const QueuedFrame& operation) {
  return {reinterpret_cast<const char*>(operation.header.data()), kHeaderSize};
}

TEST(send_queue, gathers_headers_and_segments_in_order_from_any_byte) {
  Operations pool(4);
  SendQueue queue;
  QueuedFrame& a = pool.take().begin(message("abc", "de"));
  QueuedFrame& b = pool.take().begin(message("", "f"));
  queue.push(a);
  queue.push(b);
  const std::string all = header_of(a) + "abcde" + header_of(b) + "f";
  for (std::size_t skip = 0; skip < a.frame_size(); ++skip) {
    EXPECT_EQ(joined(queue, skip), all.substr(skip)) << skip;
  }
}

TEST(send_queue, gathers_no_more_than_there_is_room_or_leave_for) {
  Operations pool(4);
  SendQueue queue;
  QueuedFrame& a = pool.take().begin(message("a", ""));
  queue.push(a);
  queue.push(pool.take().begin(message("b", "")));
  EXPECT_EQ(joined(queue, 0, 1), header_of(a) + "a");
  EXPECT_EQ(joined(queue, 0, 100, 4), header_of(a) + "a");
}

TEST(send_queue, stops_at_a_change_of_service_level) {
  Operations pool(4);
  SendQueue queue;
  QueuedFrame& a = pool.take().begin(message("a", "", 3));
  queue.push(a);
  queue.push(pool.take().begin(message("b", "", 4)));
  EXPECT_EQ(joined(queue, 0), header_of(a) + "a");
}

TEST(send_queue, copies_borrowed_messages_and_leaves_writes_alone) {
  Operations pool(4);
  SendQueue queue;
  std::string text = "hello world";
  TxOp write = message(text, "");
  write.kind = OpKind::write;
  QueuedFrame& w = pool.take().begin(write);
  QueuedFrame& m = pool.take().begin(
      message(std::string_view(text).substr(0, 5), std::string_view(text).substr(5)));
  queue.push(w);
  queue.push(m);
  queue.own_messages();
  text = "HELLO WORLD";
  EXPECT_EQ(joined(queue, 0), header_of(w) + "HELLO WORLD" + header_of(m) + "hello world");
}

TEST(operation_pool, hands_out_its_capacity_and_takes_it_back) {
  Operations pool(2);
  QueuedFrame& a = pool.take().begin({});
  pool.take().begin({});
  EXPECT_TRUE(pool.empty());
  pool.give(a);
  EXPECT_FALSE(pool.empty());
}

}  // namespace
}  // namespace weft::tcp
