// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "base/rng.hpp"
#include "core/stream/assembly_table.hpp"
#include "core/stream/input_buffer.hpp"
#include "core/stream/send_window.hpp"
#include "core/stream/timeslice_set.hpp"

namespace weft::stream {
namespace {

TEST(assembly_table, agrees_with_a_map_over_random_creations_and_erasures) {
  constexpr std::uint64_t seed = 11;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  AssemblyTable table(2);
  std::map<std::uint64_t, Assembly*> model;
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t key = rng.below(300) * 1000;
    const auto found = model.find(key);
    if (found == model.end()) {
      EXPECT_EQ(table.find(TimesliceIndex(key)), nullptr);
      model[key] = &table.create(TimesliceIndex(key));
    } else {
      ASSERT_EQ(table.find(TimesliceIndex(key)), found->second);
      if (rng.below(2) == 0) continue;
      table.erase(TimesliceIndex(key));
      model.erase(found);
    }
    ASSERT_EQ(table.size(), model.size());
  }
}

TEST(timeslice_set, counts_as_a_set_does_what_was_added_in_any_order) {
  constexpr std::uint64_t seed = 5;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  TimesliceSet sets[3];
  std::set<std::uint64_t> model;
  const auto add = [&](std::size_t s, std::uint64_t t) {
    sets[s].add(TimesliceIndex(t));
    model.insert(t);
  };
  for (std::uint64_t t = 0; t < 300'000; t += 3) add(0, t);
  for (std::uint64_t t = 299'999; t < 500'000; t += 4) add(1, t);
  for (int i = 0; i < 1000; ++i) add(2, rng.below(600'000));
  EXPECT_EQ(sets[0].runs().size(), 1u);
  EXPECT_EQ(sets[1].runs().size(), 1u);
  std::vector<TimesliceRun> all;
  for (const TimesliceSet& set : sets) {
    all.insert(all.end(), set.runs().begin(), set.runs().end());
  }
  for (const std::uint64_t end : {0, 1, 100'000, 131'072, 400'001, 700'000}) {
    const auto below =
        static_cast<std::uint64_t>(std::distance(model.begin(), model.lower_bound(end)));
    EXPECT_EQ(count_distinct(all, TimesliceIndex(end)), below) << end;
  }
}

TEST(send_window, advances_over_what_is_done_in_any_order) {
  SendWindow window(8);
  window.at(TimesliceIndex(2)).state = SendWindow::State::started;
  EXPECT_EQ(window.next(), TimesliceIndex(3));
  window.mark_done(TimesliceIndex(1));
  window.mark_done(TimesliceIndex(0));
  EXPECT_EQ(window.oldest(), TimesliceIndex(2));
  EXPECT_EQ(window.state(TimesliceIndex(1)), SendWindow::State::done);
  EXPECT_EQ(window.state(TimesliceIndex(2)), SendWindow::State::started);
  EXPECT_EQ(window.state(TimesliceIndex(9)), SendWindow::State::waiting);
  EXPECT_TRUE(window.covers(TimesliceIndex(9)));
  EXPECT_FALSE(window.covers(TimesliceIndex(10)));
}

TEST(send_window, covers_no_more_than_its_capacity_whatever_the_number_of_slots) {
  SendWindow window(5);
  window.restart_at(TimesliceIndex(6));
  for (std::uint64_t t = 6; t < 11; ++t) {
    window.at(TimesliceIndex(t)).owner = static_cast<std::uint32_t>(t);
  }
  for (std::uint64_t t = 6; t < 11; ++t) EXPECT_EQ(window.slot(TimesliceIndex(t)).owner, t);
  EXPECT_TRUE(window.covers(TimesliceIndex(10)));
  EXPECT_FALSE(window.covers(TimesliceIndex(11)));
}

class input_buffer : public ::testing::Test {
 protected:
  std::vector<std::byte> content_ = std::vector<std::byte>(2 * 64);
  std::vector<std::byte> descriptors_ = std::vector<std::byte>(2 * 4 * 32);
  InputBuffer buffer_{{content_.data(), 64}, {descriptors_.data(), 4 * 32}};
};

TEST_F(input_buffer, grants_nothing_while_it_is_full) {
  EXPECT_EQ(buffer_.reserve(40).size(), 40u);
  buffer_.commit({});
  EXPECT_EQ(buffer_.reserve(25).data(), nullptr);
  EXPECT_EQ(buffer_.reserve(24).size(), 24u);
  buffer_.commit({});
  buffer_.release_before(1);
  EXPECT_EQ(buffer_.reserve(40).size(), 40u);
}

TEST_F(input_buffer, a_run_is_descriptors_then_contents) {
  for (const std::size_t size : {10, 20, 5}) {
    (void)buffer_.reserve(size);
    buffer_.commit({});
  }
  const MicrosliceRun run = buffer_.run(1, 2);
  EXPECT_EQ(run.segments[0].size(), 64u);
  EXPECT_EQ(run.segments[1].size(), 25u);
  EXPECT_EQ(run.segments[1].data(), content_.data() + 10);
  EXPECT_EQ(run.bytes(), 89u);
}

TEST_F(input_buffer, with_more_room_than_memory_contents_lie_over_each_other) {
  InputBuffer roomy({content_.data(), 64}, {descriptors_.data(), 4 * 32}, 100);
  EXPECT_EQ(roomy.capacity(), 64u);
  EXPECT_EQ(roomy.reserve(60).data(), content_.data());
  roomy.commit({});
  EXPECT_EQ(roomy.reserve(41).data(), nullptr);
  EXPECT_EQ(roomy.reserve(40).data(), content_.data() + 60);
  roomy.commit({});
  EXPECT_EQ(roomy.fill(), 1);
  EXPECT_EQ(roomy.run(1, 1).segments[1].size(), 40u);
  roomy.release_before(1);
  EXPECT_EQ(roomy.reserve(60).data(), content_.data() + 36);
}

TEST_F(input_buffer, holds_no_more_microslices_than_it_has_descriptors) {
  for (int i = 0; i < 4; ++i) {
    EXPECT_NE(buffer_.reserve(0).data(), nullptr);
    buffer_.commit({});
  }
  EXPECT_EQ(buffer_.reserve(0).data(), nullptr);
}

}  // namespace
}  // namespace weft::stream
