// SPDX-License-Identifier: Apache-2.0
#include "core/stream/messages.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::stream {
namespace {

template <class M>
std::vector<std::byte> bytes_of(const M& message) {
  std::vector<std::byte> buffer(8192);
  wire::Writer out(buffer);
  encode(message, out);
  buffer.resize(out.size());
  return buffer;
}

TEST(messages, written_has_the_documented_bytes) {
  const auto bytes = bytes_of(Written{.view = 3, .descriptors = 7, .ended = TimesliceIndex(9)});
  const unsigned char golden[] = {2, 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0};
  ASSERT_EQ(bytes.size(), sizeof golden);
  EXPECT_EQ(std::memcmp(bytes.data(), golden, sizeof golden), 0);
}

TEST(messages, a_view_comes_back_as_it_was) {
  const Roster roster{70, 3};
  View view{.number = 5, .first = TimesliceIndex(100), .end = TimesliceIndex(200)};
  view.inputs = IndexSet(70, true);
  view.inputs.erase(69);
  view.computes = IndexSet(3, true);
  view.forgotten = IndexSet(3);
  view.forgotten.insert(2);
  view.repeated_below = TimesliceIndex(120);
  view.done = {0x5};
  view.unsure = true;
  view.doubtful_below = TimesliceIndex(97);
  const auto back = decode_view(bytes_of(view), roster);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->first, view.first);
  EXPECT_EQ(back->repeated_below, view.repeated_below);
  EXPECT_TRUE(back->unsure);
  EXPECT_EQ(back->doubtful_below, view.doubtful_below);
  EXPECT_EQ(back->inputs, view.inputs);
  EXPECT_EQ(back->forgotten, view.forgotten);
  EXPECT_TRUE(back->is_done(TimesliceIndex(99)));
  EXPECT_TRUE(back->is_done(TimesliceIndex(100)));
  EXPECT_FALSE(back->is_done(TimesliceIndex(101)));
  EXPECT_TRUE(back->is_done(TimesliceIndex(102)));
}

TEST(messages, views_and_promises_further_than_any_stream_are_refused) {
  const Roster roster{2, 2};
  const TimesliceIndex far(std::uint64_t{1} << 62);
  View view{.number = 1, .first = far};
  view.inputs = view.computes = view.forgotten = IndexSet(2);
  EXPECT_TRUE(decode_view(bytes_of(view), roster));
  view.first = far.plus(1);
  EXPECT_FALSE(decode_view(bytes_of(view), roster));
  EXPECT_TRUE(decode_promise(bytes_of(Promise{.number = 1, .next = far}), roster));
  EXPECT_FALSE(decode_promise(bytes_of(Promise{.number = 1, .next = far.plus(1)}), roster));
}

TEST(messages, cut_and_lengthened_ones_are_refused) {
  const Roster roster{4, 4};
  Promise promise{.number = 1, .next = TimesliceIndex(2), .done = {{1, TimesliceIndex(3)}}};
  auto bytes = bytes_of(promise);
  EXPECT_TRUE(decode_promise(bytes, roster));
  EXPECT_FALSE(decode_promise(bytes, roster)->remembers);
  promise.remembers = true;
  EXPECT_TRUE(decode_promise(bytes_of(promise), roster)->remembers);
  EXPECT_FALSE(decode_promise(bytes_of(promise), roster)->takes_part);
  promise = {.number = 1, .takes_part = true};
  EXPECT_FALSE(decode_promise(bytes_of(promise), roster)->remembers);
  EXPECT_TRUE(decode_promise(bytes_of(promise), roster)->takes_part);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(decode_promise(std::span(bytes).first(n), roster)) << n << " bytes";
  }
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(decode_promise(bytes, roster));
}

TEST(messages, nodes_that_the_job_does_not_have_are_refused) {
  const Roster roster{2, 2};
  EXPECT_FALSE(decode_suspect(bytes_of(Suspect{NodeId(4), 1}), roster));
  Promise promise{.number = 1, .next = TimesliceIndex(2), .done = {{2, TimesliceIndex(3)}}};
  EXPECT_FALSE(decode_promise(bytes_of(promise), roster));
}

TEST(messages, the_longest_view_of_a_job_fits_its_message) {
  const Roster roster{192, 192};
  View view{.number = 1};
  view.inputs = IndexSet(192, true);
  view.computes = IndexSet(192, true);
  view.forgotten = IndexSet(192, true);
  view.done.assign(max_done_words(roster), ~std::uint64_t{0});
  EXPECT_LE(bytes_of(view).size(), max_message_bytes(roster));
}

TEST(index_set, counts_ranks_and_finds_members) {
  IndexSet set(130);
  for (const std::uint32_t i : {0u, 63u, 64u, 129u}) set.insert(i);
  EXPECT_EQ(set.count(), 4u);
  EXPECT_EQ(set.rank(64), 2u);
  EXPECT_EQ(set.nth(3), 129u);
  set.assign_word(2, ~std::uint64_t{0});
  EXPECT_EQ(set.count(), 5u) << "bits beyond the size are not members";
  set.insert(129);
  set.erase(5);
  EXPECT_EQ(set.count(), 5u) << "nothing changed";
  IndexSet others(130, true);
  EXPECT_EQ(others.rank(77), 77u);
  EXPECT_EQ(others.nth(77), 77u);
  others.erase(64);
  EXPECT_EQ(others.rank(77), 76u);
  EXPECT_EQ(others.nth(76), 77u);
  others &= set;
  EXPECT_EQ(others.count(), 4u);
  EXPECT_EQ(others.nth(2), 128u);
}

}  // namespace
}  // namespace weft::stream
