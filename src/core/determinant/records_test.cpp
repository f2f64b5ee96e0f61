// SPDX-License-Identifier: Apache-2.0
#include "core/determinant/records.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/rng.hpp"

namespace weft::determinant {
namespace {

Record draw(Rng& rng) {
  Record record;
  record.kind = static_cast<Kind>(1 + rng.below(10));
  const auto wide = [&] { return rng.next() >> rng.below(64); };
  switch (record.kind) {
    case Kind::misses:
      record.value = wide() | 1;
      break;
    case Kind::some:
      for (std::uint32_t at = 0, n = 0; n <= rng.below(20); ++n) {
        at += static_cast<std::uint32_t>(rng.below(300));
        record.places.push_back(at++);
      }
      break;
    case Kind::message:
      record.tag = static_cast<std::int32_t>(rng.below(1u << 31));
      [[fallthrough]];
    case Kind::match:
      record.source = static_cast<std::uint32_t>(wide());
      if (record.kind == Kind::match) record.value = wide();
      break;
    case Kind::clock:
      record.source = static_cast<std::uint32_t>(rng.below(most_clocks));
      [[fallthrough]];
    case Kind::cancel:
    case Kind::time:
    case Kind::number:
      record.value = wide();
      break;
    default:
      break;
  }
  return record;
}

TEST(determinant_records, reads_what_was_written) {
  Rng rng(1);
  Differences written, read_back;
  for (int i = 0; i < 20'000; ++i) {
    const Record record = draw(rng);
    std::vector<std::byte> bytes(most_bytes(record.places.size()));
    const std::size_t size = write(record, written, bytes.data());
    ASSERT_LE(size, bytes.size());
    Record found;
    ASSERT_EQ(read(std::span(bytes).first(size), read_back, found), size);
    EXPECT_EQ(found.kind, record.kind);
    EXPECT_EQ(found.value, record.value);
    EXPECT_EQ(found.source, record.source);
    EXPECT_EQ(found.tag, record.tag);
    EXPECT_EQ(found.places, record.places);
  }
}

TEST(determinant_records, a_record_that_is_cut_off_is_none) {
  Rng rng(2);
  for (int i = 0; i < 2'000; ++i) {
    const Record record = draw(rng);
    std::vector<std::byte> bytes(most_bytes(record.places.size()));
    Differences differences;
    const std::size_t size = write(record, differences, bytes.data());
    for (std::size_t cut = 0; cut < size; ++cut) {
      Record found;
      Differences other;
      ASSERT_EQ(read(std::span(bytes).first(cut), other, found), 0u);
    }
  }
}

TEST(determinant_records, usual_records_take_three_bytes_or_less) {
  Differences differences{.time = 1'000'000'000, .number = 1'000'000};
  std::array<std::byte, most_bytes(1)> bytes;
  EXPECT_EQ(write({.kind = Kind::yes}, differences, bytes.data()), 1u);
  EXPECT_EQ(
      write({.kind = Kind::match, .value = 1'000'001, .source = 100}, differences, bytes.data()),
      3u);
  EXPECT_EQ(write({.kind = Kind::some, .places = {3}}, differences, bytes.data()), 3u);
  EXPECT_EQ(write({.kind = Kind::time, .value = 1'000'000'050}, differences, bytes.data()), 2u);
  (void)write({.kind = Kind::clock, .value = 1'000'000'000, .source = 1}, differences,
              bytes.data());
  EXPECT_EQ(
      write({.kind = Kind::clock, .value = 1'000'000'050, .source = 1}, differences, bytes.data()),
      3u);
}

}  // namespace
}  // namespace weft::determinant
