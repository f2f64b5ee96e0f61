// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/frame_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "base/rng.hpp"

namespace weft::tcp {
namespace {

constexpr std::size_t kMaxMessage = 5000;
constexpr std::size_t kBuffer = 8192;

using Bytes = std::vector<std::byte>;

void append(Bytes& stream, const FrameHeader& header, std::span<const std::byte> payload) {
  const HeaderBytes bytes = encode(header);
  stream.insert(stream.end(), bytes.begin(), bytes.end());
  stream.insert(stream.end(), payload.begin(), payload.end());
}

Bytes random_bytes(std::size_t size, Rng& rng) {
  Bytes bytes(size);
  for (auto& b : bytes) b = static_cast<std::byte>(rng.next());
  return bytes;
}

struct Fixture {
  Fixture() : memory(100'000), region(regions.expose(memory)) {}

  // Feeds `stream` in reads of at most `largest` bytes; collects messages. Stops at drain and bad.
  FrameReader::Event feed(std::span<const std::byte> stream, std::size_t largest) {
    for (;;) {
      const auto event = reader.next();
      if (event == FrameReader::Event::message) {
        messages.emplace_back(reader.message().begin(), reader.message().end());
        continue;
      }
      if (event != FrameReader::Event::need_more || stream.empty()) return event;
      FrameReader::Plan plan;
      std::size_t entries = reader.plan(plan);
      if (entries == 0) {
        reader.release();
        entries = reader.plan(plan);
      }
      std::size_t read = 0;
      for (std::size_t i = 0; i < entries; ++i) {
        const std::size_t n = std::min({plan[i].iov_len, stream.size(), largest - read});
        std::memcpy(plan[i].iov_base, stream.data(), n);
        stream = stream.subspan(n);
        read += n;
      }
      EXPECT_GT(read, 0u) << "a plan without room";
      reader.filled(read);
    }
  }

  RegionTable regions{1};
  Bytes memory;
  Region region;
  ReceiveBuffers pool{kBuffer};
  FrameReader reader{pool, regions, kMaxMessage};
  std::vector<Bytes> messages;
};

TEST(frame_reader, cuts_a_random_stream_the_same_however_it_arrives) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const std::size_t largest : {1u, 7u, 24u, 1000u, 1'000'000u}) {
    Rng rng(seed);
    Fixture f;
    Bytes stream, expected_memory(f.memory.size());
    std::vector<Bytes> expected;
    for (int i = 0; i < 300; ++i) {
      if (rng.below(2) == 0) {
        expected.push_back(random_bytes(rng.below(rng.below(4) == 0 ? kMaxMessage + 1 : 50), rng));
        append(stream, {FrameType::message, static_cast<std::uint32_t>(expected.back().size())},
               expected.back());
      } else {
        const Bytes data = random_bytes(rng.below(rng.below(4) == 0 ? 60'000 : 100), rng);
        const std::size_t offset = rng.below(f.memory.size() - data.size() + 1);
        std::ranges::copy(data, expected_memory.begin() + static_cast<std::ptrdiff_t>(offset));
        append(stream,
               {FrameType::write, static_cast<std::uint32_t>(data.size()), f.region.remote.key,
                offset},
               data);
      }
    }
    EXPECT_EQ(f.feed(stream, largest), FrameReader::Event::need_more);
    EXPECT_EQ(f.messages, expected) << largest;
    EXPECT_EQ(f.memory, expected_memory) << largest;
    EXPECT_TRUE(f.reader.at_boundary());
  }
}

TEST(frame_reader, plans_a_large_payload_straight_into_its_region) {
  Fixture f;
  Bytes stream;
  append(stream, {FrameType::write, 50'000, f.region.remote.key, 16}, {});
  EXPECT_EQ(f.feed(stream, 1 << 20), FrameReader::Event::need_more);
  FrameReader::Plan plan;
  ASSERT_EQ(f.reader.plan(plan), 2u);
  EXPECT_EQ(plan[0].iov_base, f.memory.data() + 16);
  EXPECT_EQ(plan[0].iov_len, 50'000u);
  EXPECT_LE(plan[1].iov_len, 1024u);
  EXPECT_TRUE(f.reader.writes_into(f.region.remote.key));
}

TEST(frame_reader, keeps_messages_in_place_until_they_are_released) {
  Fixture f;
  Bytes stream;
  const Bytes data(kMaxMessage, std::byte{7});
  append(stream, {FrameType::message, kMaxMessage}, data);
  append(stream, {FrameType::message, kMaxMessage}, data);
  EXPECT_EQ(f.reader.next(), FrameReader::Event::need_more);
  FrameReader::Plan plan;
  std::span<const std::byte> rest(stream);
  while (f.reader.next() == FrameReader::Event::need_more) {
    ASSERT_EQ(f.reader.plan(plan), 1u);
    const std::size_t n = std::min(plan[0].iov_len, rest.size());
    std::memcpy(plan[0].iov_base, rest.data(), n);
    rest = rest.subspan(n);
    f.reader.filled(n);
  }
  const auto held = f.reader.message();
  ASSERT_EQ(f.reader.next(), FrameReader::Event::need_more);
  // The second does not fit behind the first.
  EXPECT_EQ(f.reader.plan(plan), 0u);
  EXPECT_TRUE(std::ranges::equal(held, data));
  f.reader.release();
  EXPECT_EQ(f.reader.plan(plan), 1u);
}

TEST(frame_reader, refuses_a_message_above_the_limit_before_it_arrives) {
  Fixture f;
  Bytes stream;
  append(stream, {FrameType::message, kMaxMessage + 1}, {});
  EXPECT_EQ(f.feed(stream, 100), FrameReader::Event::bad);
  EXPECT_EQ(f.reader.next(), FrameReader::Event::bad);
}

TEST(frame_reader, refuses_a_huge_length) {
  for (const FrameType type : {FrameType::message, FrameType::write}) {
    Fixture f;
    Bytes stream;
    append(stream, {type, 0xFFFFFFFF, type == FrameType::write ? f.region.remote.key : 0, 0}, {});
    EXPECT_EQ(f.feed(stream, 100), FrameReader::Event::bad);
  }
}

TEST(frame_reader, refuses_writes_outside_of_regions) {
  const std::uint64_t size = 100'000, key = Fixture().region.remote.key;
  for (const FrameHeader header :
       {FrameHeader{FrameType::write, 1, key, size},
        FrameHeader{FrameType::write, 2, key, size - 1},
        FrameHeader{FrameType::write, 16, key, ~0ull - 8},
        FrameHeader{FrameType::write, 1, key + 1}, FrameHeader{FrameType::write, 0, 0},
        FrameHeader{FrameType::write, 0, key, size + 1},
        FrameHeader{FrameType::write, 1, key ^ (1ull << 40)}}) {
    Fixture f;
    Bytes stream;
    append(stream, header, {});
    EXPECT_EQ(f.feed(stream, 100), FrameReader::Event::bad) << header.offset;
  }
}

TEST(frame_reader, accepts_a_write_of_nothing_at_the_end_of_a_region) {
  Fixture f;
  Bytes stream;
  append(stream, {FrameType::write, 0, f.region.remote.key, 100'000}, {});
  EXPECT_EQ(f.feed(stream, 100), FrameReader::Event::need_more);
  EXPECT_TRUE(f.reader.at_boundary());
}

TEST(frame_reader, refuses_anything_after_drain) {
  Fixture f;
  Bytes stream;
  append(stream, {FrameType::drain}, {});
  append(stream, {FrameType::message, 0}, {});
  EXPECT_EQ(f.feed(stream, 1000), FrameReader::Event::drain);
  EXPECT_EQ(f.reader.next(), FrameReader::Event::bad);
}

TEST(frame_reader, refuses_a_buffer_full_of_bytes_after_drain) {
  Fixture f;
  Bytes stream;
  append(stream, {FrameType::drain}, {});
  stream.resize(2 * kBuffer, std::byte{1});
  EXPECT_EQ(f.feed(stream, stream.size()), FrameReader::Event::drain);
  EXPECT_EQ(f.reader.next(), FrameReader::Event::bad);
}

TEST(region_table, forgets_a_retracted_region_for_good) {
  RegionTable regions(~0u);
  Bytes memory(100);
  const Region first = regions.expose(memory);
  EXPECT_EQ(regions.find(first.remote.key, 10, 90), memory.data() + 10);
  EXPECT_TRUE(regions.retract(first.remote.key));
  EXPECT_FALSE(regions.retract(first.remote.key));
  const Region second = regions.expose(memory);
  EXPECT_NE(first.remote.key, second.remote.key);
  EXPECT_NE(second.remote.key, 0u);
  EXPECT_EQ(regions.find(first.remote.key, 0, 1), nullptr);
  EXPECT_EQ(regions.find(second.remote.key, 0, 1), memory.data());
}

}  // namespace
}  // namespace weft::tcp
