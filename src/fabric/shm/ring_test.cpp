// SPDX-License-Identifier: Apache-2.0
#include "fabric/shm/ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "base/rng.hpp"

namespace weft::shm {
namespace {

constexpr std::size_t kSize = 16 * 1024;

// Memory as a segment has it: zero, and beginning on a page.
class RingTest : public ::testing::Test {
 protected:
  struct Free {
    void operator()(std::byte* memory) const {
      ::operator delete[](memory, std::align_val_t(kRingOffset));
    }
  };
  RingTest()
      : memory_(static_cast<std::byte*>(
            ::operator new[](kRingOffset + kSize, std::align_val_t(kRingOffset)))),
        all_(memory_.get(), kRingOffset + kSize) {
    std::memset(all_.data(), 0, all_.size());
    ring_ = RingMemory::at(all_);
    producer_ = Producer(ring_);
    consumer_ = Consumer(ring_);
  }
  bool send(std::size_t size, std::uint8_t value) {
    std::byte* const place = producer_.reserve(size);
    if (place == nullptr) return false;
    std::memset(place, value, size);
    producer_.publish(RecordKind::message);
    return true;
  }
  void put_word(std::size_t offset, std::uint64_t word) {
    std::memcpy(ring_.data + offset, &word, sizeof word);
  }

  std::unique_ptr<std::byte, Free> memory_;
  std::span<std::byte> all_;
  RingMemory ring_;
  Producer producer_;
  Consumer consumer_;
  Consumer::Record record_;
};

TEST_F(RingTest, is_empty_at_first_and_after_everything_was_read) {
  EXPECT_FALSE(consumer_.has_next());
  ASSERT_TRUE(send(8, 1));
  EXPECT_EQ(consumer_.look(record_), Consumer::Look::record);
  EXPECT_EQ(record_.payload.size(), 8u);
  consumer_.advance();
  EXPECT_EQ(consumer_.look(record_), Consumer::Look::nothing);
  EXPECT_FALSE(consumer_.has_next());
}

TEST_F(RingTest, carries_empty_and_largest_records_any_number_of_times) {
  Rng rng(7);
  for (int i = 0; i < 5000; ++i) {
    std::size_t size = rng.below(200);
    if (i % 11 == 0) size = 0;
    if (i % 13 == 0) size = largest_payload(kSize);
    if (rng.below(3) == 0) producer_.keep_line();
    ASSERT_TRUE(send(size, static_cast<std::uint8_t>(i)));
    ASSERT_EQ(consumer_.look(record_), Consumer::Look::record);
    ASSERT_EQ(record_.payload.size(), size);
    for (const std::byte b : record_.payload) ASSERT_EQ(b, std::byte(i));
    consumer_.advance();
    consumer_.release();
  }
}

TEST_F(RingTest, takes_no_more_than_its_size_until_the_consumer_releases) {
  std::size_t taken = 0;
  while (send(120, 3)) ++taken;
  EXPECT_EQ(taken, kSize / 128 - 1);  // a line stays free for the word behind the last
  while (consumer_.look(record_) == Consumer::Look::record) consumer_.advance();
  EXPECT_FALSE(send(120, 3)) << "read, but not released";
  consumer_.release();
  EXPECT_TRUE(send(120, 3));
}

TEST_F(RingTest, payload_that_looks_like_a_record_is_never_taken_for_one) {
  // Payload bytes lie where later heads will be.
  for (int i = 0; i < 2000; ++i) {
    std::byte* const place = producer_.reserve(static_cast<std::size_t>(i) % 1000 + 8);
    ASSERT_NE(place, nullptr);
    const std::size_t size = static_cast<std::size_t>(i) % 1000 + 8;
    for (std::size_t at = 0; at + 8 <= size; at += 8) {
      const std::uint64_t head = encode({.kind = RecordKind::write, .size = 24});
      std::memcpy(place + at, &head, sizeof head);
    }
    producer_.publish(RecordKind::message);
    ASSERT_EQ(consumer_.look(record_), Consumer::Look::record);
    ASSERT_EQ(record_.kind, RecordKind::message);
    consumer_.advance();
    consumer_.release();
    ASSERT_FALSE(consumer_.has_next());
  }
}

TEST_F(RingTest, small_records_stay_at_the_beginning_when_the_consumer_keeps_up) {
  std::size_t furthest = 0;
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(send(8, 1));
    ASSERT_EQ(consumer_.look(record_), Consumer::Look::record);
    furthest = std::max(furthest, static_cast<std::size_t>(record_.payload.data() - ring_.data));
    consumer_.advance();
    consumer_.release();
  }
  EXPECT_LT(furthest, kSize * 3 / 4);
}

TEST_F(RingTest, short_records_without_answers_share_lines_two_and_two) {
  const auto offset_of_next = [&](std::size_t size) {
    EXPECT_TRUE(send(size, 9));
    EXPECT_EQ(consumer_.look(record_), Consumer::Look::record);
    EXPECT_EQ(record_.payload.size(), size);
    for (const std::byte b : record_.payload) EXPECT_EQ(b, std::byte{9});
    consumer_.advance();
    return static_cast<std::size_t>(record_.payload.data() - ring_.data) - kHeadSize;
  };
  EXPECT_EQ(offset_of_next(8), 0u);
  EXPECT_EQ(offset_of_next(24), 64u) << "the first one had its line for itself";
  EXPECT_EQ(offset_of_next(0), 96u);
  EXPECT_EQ(offset_of_next(25), 128u) << "too long for half a line";
  EXPECT_EQ(offset_of_next(24), 192u);
  producer_.keep_line();
  EXPECT_EQ(offset_of_next(8), 224u) << "it has the rest of a line";
  producer_.keep_line();
  EXPECT_EQ(offset_of_next(8), 256u);
  EXPECT_EQ(offset_of_next(8), 320u);
  EXPECT_EQ(offset_of_next(56), 352u) << "from the middle of one line to the end of the next";
  EXPECT_EQ(offset_of_next(8), 448u);
}

TEST_F(RingTest, wakes_a_sleeping_consumer_once) {
  EXPECT_FALSE(consumer_.say_sleeping());
  EXPECT_TRUE(consumer_.say_sleeping());
  ASSERT_TRUE(send(8, 1));
  EXPECT_TRUE(producer_.must_wake());
  EXPECT_FALSE(producer_.must_wake());
}

TEST_F(RingTest, wakes_a_producer_that_wants_space_once) {
  EXPECT_FALSE(producer_.say_space_wanted());
  EXPECT_TRUE(producer_.say_space_wanted());
  ASSERT_TRUE(send(8, 1));
  ASSERT_EQ(consumer_.look(record_), Consumer::Look::record);
  consumer_.advance();
  EXPECT_TRUE(consumer_.release());
  EXPECT_FALSE(consumer_.release());
}

TEST_F(RingTest, a_consumer_that_says_the_impossible_is_not_believed) {
  ASSERT_TRUE(send(8, 1));
  for (const std::uint64_t nonsense : {std::uint64_t{128}, std::uint64_t{63}, std::uint64_t{16},
                                       ~std::uint64_t{0}, ~std::uint64_t{63}}) {
    Producer fresh = producer_;
    ring_.control->consumed[0] = nonsense;
    EXPECT_FALSE(fresh.refresh()) << nonsense;
    ring_.control->consumed[0] = 64;
    EXPECT_FALSE(fresh.refresh()) << "once impossible, for ever";
  }
  EXPECT_TRUE(producer_.refresh());
  ring_.control->consumed[0] = 0;
  EXPECT_FALSE(producer_.refresh()) << "backwards";
}

TEST_F(RingTest, heads_that_no_producer_writes_are_bad) {
  const auto head = [](RecordKind kind, std::uint32_t size) {
    return encode({.kind = kind, .size = size});
  };
  for (const std::uint64_t word :
       {std::uint64_t{5}, std::uint64_t{0xFF}, std::uint64_t{1} << 20,
        head(RecordKind::message, static_cast<std::uint32_t>(largest_payload(kSize)) + 1),
        head(RecordKind::message, ~std::uint32_t{0}), head(RecordKind::padding, 8),
        encode({.kind = RecordKind::message, .is_half = true, .size = 25}),
        encode({.kind = RecordKind::padding, .is_half = true, .size = 24}),
        head(RecordKind::padding, kSize - kHeadSize), head(RecordKind::padding, kSize)}) {
    put_word(0, word);
    EXPECT_EQ(consumer_.look(record_), Consumer::Look::bad) << word;
  }
}

TEST_F(RingTest, two_threads_exchange_records_of_all_sizes_in_order) {
  constexpr std::uint64_t kCount = 20'000;
  std::thread sender([&] {
    Rng rng(3);
    for (std::uint64_t i = 0; i < kCount;) {
      const std::size_t size = 8 + rng.below(rng.below(20) == 0 ? 6000 : 100);
      if (rng.below(4) == 0) producer_.keep_line();
      std::byte* place = nullptr;
      while ((place = producer_.reserve(size)) == nullptr) std::this_thread::yield();
      std::memset(place, static_cast<int>(i % 251), size);
      std::memcpy(place, &i, sizeof i);
      producer_.publish(RecordKind::message);
      ++i;
    }
  });
  bool intact = true;
  for (std::uint64_t i = 0; i < kCount;) {
    if (consumer_.look(record_) != Consumer::Look::record) {
      std::this_thread::yield();
      continue;
    }
    std::uint64_t number = 0;
    std::memcpy(&number, record_.payload.data(), sizeof number);
    intact = intact && number == i;
    for (const std::byte b : record_.payload.subspan(sizeof number)) {
      intact = intact && b == std::byte(i % 251);
    }
    consumer_.advance();
    if (++i % 3 == 0) consumer_.release();
    if (consumer_.unreleased() > kSize / 4) consumer_.release();
  }
  sender.join();
  EXPECT_TRUE(intact);
}

// Both sides sleep on a flag of their own when there is nothing to do: not for long after having
// said so, and else until they are woken. A lost wake-up would leave both asleep, which the loop's
// end would show.
TEST_F(RingTest, two_threads_that_sleep_never_miss_each_other) {
  constexpr std::uint64_t kCount = 20'000;
  std::atomic<bool> consumer_woken = false, producer_woken = false;
  const auto sleep = [](std::atomic<bool>& woken, bool was_said) {
    const auto first = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (!woken.exchange(false)) {
      if (!was_said && std::chrono::steady_clock::now() >= first) return;
      std::this_thread::yield();
    }
  };
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < kCount;) {
      std::byte* const place = producer_.reserve(1000);
      if (place != nullptr) {
        std::memcpy(place, &i, sizeof i);
        producer_.publish(RecordKind::message);
        ++i;
        if (producer_.must_wake()) consumer_woken = true;
        continue;
      }
      const std::uint64_t before = producer_.consumed();
      const bool was_said = producer_.say_space_wanted();
      full_fence();
      if (producer_.refresh() && producer_.consumed() != before) continue;
      sleep(producer_woken, was_said);
    }
  });
  for (std::uint64_t i = 0; i < kCount;) {
    if (consumer_.look(record_) == Consumer::Look::record) {
      consumer_.advance();
      ++i;
      if (consumer_.release()) producer_woken = true;
      continue;
    }
    const bool was_said = consumer_.say_sleeping();
    full_fence();
    if (!consumer_.has_next()) sleep(consumer_woken, was_said);
  }
  sender.join();
}

}  // namespace
}  // namespace weft::shm
