// SPDX-License-Identifier: Apache-2.0
// The figures of paper 2, each as a test with a tolerance.
#include "rdma/benchmark.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "rdma/packet_file.hpp"

namespace weft::rdma {
namespace {

BenchmarkOptions options(const char* device, PagedSide side) {
  BenchmarkOptions o;
  o.profile = *net::rc::device_profile(device);
  o.paged = side;
  return o;
}

/// The number of trials out of ten that have a timeout.
int timeouts_of_ten(BenchmarkOptions o, Duration interval) {
  o.interval = interval;
  int with = 0;
  for (o.seed = 1; o.seed <= 10; ++o.seed) {
    if (run_benchmark(o).timeouts > 0) ++with;
  }
  return with;
}

constexpr Duration us(std::int64_t n) {
  return Duration::microseconds(n);
}

/// A load as that of Fig. 9, of which a quarter shows the same.
BenchmarkOptions figure_9(PagedSide side, std::uint32_t queue_pairs) {
  BenchmarkOptions o = options("connectx-4", side);
  o.operations = 2'048;
  o.queue_pairs = queue_pairs;
  o.ack_timeout = 18;
  return o;
}

TEST(figure_1, a_read_with_a_fault_on_the_server_takes_4_5_ms_and_one_rnr_nak) {
  BenchmarkOptions o = options("connectx-4", PagedSide::server);
  o.operations = 1;
  const auto r = run_benchmark(o);
  EXPECT_NEAR(r.execution.to_seconds(), 4.5e-3, 0.2e-3);
  EXPECT_EQ(r.rnr_naks, 1u);
  EXPECT_EQ(r.timeouts, 0u);
}

TEST(figure_1, a_read_with_a_fault_on_the_client_goes_out_again_after_half_a_millisecond) {
  BenchmarkOptions o = options("connectx-4", PagedSide::client);
  o.operations = 1;
  std::vector<Instant> requests;
  run_benchmark(o, [&](const TappedPacket& tapped) {
    if (tapped.from_client) requests.push_back(tapped.at);
  });
  ASSERT_GE(requests.size(), 2u);
  EXPECT_NEAR((requests[1] - requests[0]).to_seconds(), 0.5e-3, 0.02e-3);
}

/// Measures T_o as paper 2 (IV-B) does: the time until a request without a peer fails, divided by
/// the tries.
Duration measure_timeout(const net::rc::DeviceProfile& profile, std::uint8_t ack_timeout) {
  TwoHostsOptions options;
  options.profile = profile;
  options.connected = false;
  options.adapters[0].ack_timeout = ack_timeout;
  TwoHosts hosts(options);
  Instant failed{};
  hosts.completed = [&](Instant now, int, const net::rc::Completion&) { failed = now; };
  hosts.post(0, 0, {.id = 0, .local = 0x10'0000'0000, .remote = 0x20'0000'0000, .bytes = 100});
  hosts.run(Instant::never() - Duration(1), [&] { return failed != Instant(); });
  return (failed - Instant()) / (options.adapters[0].retry_count + 1);
}

TEST(figure_2, timeouts_have_their_floors_and_double_with_each_code_above) {
  for (const auto& [device, floor_ms, code] : {std::tuple("connectx-3", 500.0, 16),
                                               {"connectx-4", 500.0, 16},
                                               {"connectx-5", 30.0, 12},
                                               {"connectx-6", 500.0, 16}}) {
    const auto profile = *net::rc::device_profile(device);
    for (int c = 1; c <= code; ++c) {
      EXPECT_NEAR(measure_timeout(profile, static_cast<std::uint8_t>(c)).to_seconds(),
                  floor_ms / 1e3, floor_ms / 1e3 * 0.02)
          << device << " " << c;
    }
    const auto above = static_cast<std::uint8_t>(code + 2);
    EXPECT_NEAR(measure_timeout(profile, above).to_seconds(), floor_ms / 1e3 * 4,
                floor_ms / 1e3 * 4 * 0.02);
    // The specification allows between T_tr and four times that.
    EXPECT_GE(measure_timeout(profile, above), net::rc::ack_timeout(above));
    EXPECT_LE(measure_timeout(profile, above), net::rc::ack_timeout(above) * 4);
  }
}

TEST(figure_4, two_reads_take_hundreds_of_milliseconds_for_intervals_of_100_to_4500_us) {
  BenchmarkOptions o = options("connectx-4", PagedSide::both);
  for (const std::int64_t interval : {100, 500, 1'000, 2'500, 4'500}) {
    o.interval = us(interval);
    const auto r = run_benchmark(o);
    EXPECT_GT(r.execution, Duration::milliseconds(300)) << interval;
    EXPECT_LT(r.execution, Duration::milliseconds(900)) << interval;
    EXPECT_TRUE(r.damming());
  }
  for (const std::int64_t interval : {0, 20, 5'500, 8'000}) {
    o.interval = us(interval);
    EXPECT_LT(run_benchmark(o).execution, Duration::milliseconds(10)) << interval;
  }
}

TEST(figure_5, the_second_request_has_no_answer_until_the_timeout) {
  BenchmarkOptions o = options("connectx-4", PagedSide::server);
  o.interval = us(1'000);
  std::vector<std::pair<bool, Instant>> of_second;
  run_benchmark(o, [&](const TappedPacket& tapped) {
    if (tapped.packet.psn == 1) of_second.emplace_back(tapped.from_client, tapped.at);
  });
  ASSERT_EQ(of_second.size(), 3u);
  EXPECT_TRUE(of_second[0].first && of_second[1].first && !of_second[2].first);
  EXPECT_NEAR((of_second[1].second - of_second[0].second).to_seconds(), 0.5, 0.02);
}

TEST(figure_6a, damming_lasts_as_long_as_the_wait_after_the_rnr_nak_whatever_that_is) {
  for (const std::uint8_t code : {std::uint8_t{10}, std::uint8_t{14}, std::uint8_t{18}}) {
    BenchmarkOptions o = options("connectx-4", PagedSide::server);
    o.rnr_timer = code;
    const Duration wait = Duration(wire::rnr_timer_ns[code] * 7 / 2);
    EXPECT_EQ(timeouts_of_ten(o, us(100)), 10) << int(code);
    EXPECT_EQ(timeouts_of_ten(o, wait * 9 / 10), 10) << int(code);
    EXPECT_EQ(timeouts_of_ten(o, wait * 11 / 10), 0) << int(code);
  }
}

TEST(figure_6b, damming_on_the_client_side_ends_at_half_a_millisecond) {
  const BenchmarkOptions o = options("connectx-4", PagedSide::client);
  EXPECT_EQ(timeouts_of_ten(o, us(100)), 10);
  EXPECT_EQ(timeouts_of_ten(o, us(450)), 10);
  EXPECT_LE(timeouts_of_ten(o, us(600)), 2);
  EXPECT_EQ(timeouts_of_ten(o, us(1'100)), 0);
}

TEST(figure_7, more_reads_narrow_the_range_of_intervals_with_damming) {
  BenchmarkOptions o = options("connectx-4", PagedSide::both);
  std::vector<int> slow;
  for (o.operations = 2; o.operations <= 4; ++o.operations) {
    int n = 0;
    for (std::int64_t interval = 250; interval <= 6'000; interval += 250) {
      n += timeouts_of_ten(o, us(interval)) >= 5 ? 1 : 0;
    }
    slow.push_back(n);
  }
  // All reads fit into the wait of 5 ms: up to 5, 2.5 and 1.7 ms.
  EXPECT_NEAR(slow[0], 20, 1);
  EXPECT_NEAR(slow[1], 10, 1);
  EXPECT_NEAR(slow[2], 6, 1);
}

TEST(figure_8, a_third_read_behind_the_wait_draws_a_sequence_nak_and_no_timeout) {
  BenchmarkOptions o = options("connectx-4", PagedSide::server);
  o.operations = 3;
  o.interval = us(3'000);
  const auto r = run_benchmark(o);
  EXPECT_EQ(r.sequence_naks, 1u);
  EXPECT_EQ(r.timeouts, 0u);
  EXPECT_LT(r.execution, Duration::milliseconds(7));
}

TEST(figure_5, without_a_timeout_the_second_request_is_never_answered) {
  BenchmarkOptions o = options("connectx-4", PagedSide::server);
  o.interval = us(1'000);
  o.ack_timeout = 0;
  const auto r = run_benchmark(o);
  EXPECT_EQ(r.stuck, 1u);
  EXPECT_EQ(r.timeouts + r.failed, 0u);
  EXPECT_TRUE(r.damming());
}

TEST(section_5c, damming_hits_writes_and_sends_too_and_whatever_size) {
  for (const auto verb : {net::rc::Verb::read, net::rc::Verb::write, net::rc::Verb::send}) {
    for (const std::uint32_t size : {1U, 100U, 10'000U}) {
      BenchmarkOptions o = options("connectx-4", PagedSide::server);
      o.interval = us(1'000);
      o.second_verb = verb;
      o.size = size;
      const auto r = run_benchmark(o);
      EXPECT_TRUE(r.damming()) << size;
      EXPECT_EQ(r.failed, 0u);
    }
  }
}

TEST(section_5c, damming_does_not_occur_on_later_adapters) {
  for (const char* device : {"connectx-5", "connectx-6", "adaptive", "ideal"}) {
    for (const auto side : {PagedSide::client, PagedSide::server, PagedSide::both}) {
      for (const std::int64_t interval : {100, 400, 1'000, 4'400}) {
        EXPECT_EQ(timeouts_of_ten(options(device, side), us(interval)), 0) << device << interval;
      }
    }
  }
}

TEST(figure_9, flood_comes_above_ten_queue_pairs_with_paging_on_the_client_side_only) {
  for (const std::uint32_t queue_pairs : {1U, 5U, 10U}) {
    EXPECT_FALSE(run_benchmark(figure_9(PagedSide::client, queue_pairs)).flood()) << queue_pairs;
  }
  for (const std::uint32_t queue_pairs : {10U, 11U, 50U, 128U}) {
    const auto server = run_benchmark(figure_9(PagedSide::server, queue_pairs));
    EXPECT_FALSE(server.flood());
    EXPECT_FALSE(run_benchmark(figure_9(PagedSide::none, queue_pairs)).flood());
  }
  for (const auto side : {PagedSide::client, PagedSide::both}) {
    EXPECT_TRUE(run_benchmark(figure_9(side, 50)).flood());
    EXPECT_TRUE(run_benchmark(figure_9(side, 128)).flood());
  }
}

/// The paper's 8,192 READs with paging on one side or both, beside the same without paging.
struct Figure9 {
  explicit Figure9(std::uint32_t queue_pairs, PagedSide side = PagedSide::client,
                   std::uint64_t seed = 1) {
    BenchmarkOptions o = figure_9(side, queue_pairs);
    o.operations = 8'192;
    o.seed = seed;
    paged = run_benchmark(o);
    o.paged = PagedSide::none;
    const auto pinned = run_benchmark(o);
    times_slower = paged.execution.to_seconds() / pinned.execution.to_seconds();
    times_packets = static_cast<double>(paged.packets) / static_cast<double>(pinned.packets);
  }
  BenchmarkResult paged;
  double times_slower = 0;
  double times_packets = 0;
};

TEST(figure_9, up_to_ten_queue_pairs_take_what_their_page_faults_take) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const std::uint32_t queue_pairs : {1U, 5U, 9U, 10U}) {
      const Figure9 f(queue_pairs, PagedSide::client, seed);
      EXPECT_EQ(f.paged.page_faults, 200u);
      // The paper's gray bar: each takes 250 to 1,000 us.
      EXPECT_GT(f.paged.execution, us(200 * 250)) << queue_pairs;
      EXPECT_LT(f.paged.execution, us(200 * 1'000)) << queue_pairs;
      EXPECT_EQ(f.paged.timeouts, 0u) << queue_pairs;
      EXPECT_FALSE(f.paged.flood()) << queue_pairs << " seed " << seed;
      EXPECT_LT(f.times_packets, 6) << queue_pairs;
    }
  }
}

TEST(figure_9, from_eleven_queue_pairs_on_flood_takes_hundreds_of_times_the_packets_and_seconds) {
  for (const std::uint32_t queue_pairs : {11U, 12U, 20U}) {
    const Figure9 f(queue_pairs);
    EXPECT_TRUE(f.paged.flood()) << queue_pairs;
    EXPECT_GT(f.times_packets, 100) << queue_pairs;
    EXPECT_LT(f.times_packets, 1'000) << queue_pairs;
    EXPECT_GT(f.paged.execution, Duration::seconds(2)) << queue_pairs;
    if (queue_pairs <= 12) {
      EXPECT_EQ(f.paged.timeouts, 0u) << "flood alone";
    }
  }
}

TEST(figure_9, flood_of_128_queue_pairs_is_up_to_3000_times_slower) {
  const Figure9 f(128);
  EXPECT_TRUE(f.paged.flood());
  EXPECT_GT(f.times_packets, 100);
  EXPECT_LT(f.times_packets, 1'000);
  EXPECT_GT(f.times_slower, 2'000);
  EXPECT_LT(f.times_slower, 3'500);
}

TEST(figure_9, the_limit_is_the_same_on_both_sides_and_on_a_later_adapter) {
  const Figure9 ten(10, PagedSide::both), eleven(11, PagedSide::both);
  EXPECT_FALSE(ten.paged.flood());
  EXPECT_EQ(ten.paged.timeouts, 0u);
  EXPECT_TRUE(eleven.paged.flood());
  EXPECT_GT(eleven.times_slower, 10 * ten.times_slower);
  for (const std::uint32_t queue_pairs : {10U, 11U}) {
    BenchmarkOptions o = figure_9(PagedSide::client, queue_pairs);
    o.profile = *net::rc::device_profile("connectx-6");
    EXPECT_EQ(run_benchmark(o).flood(), queue_pairs > 10) << queue_pairs;
  }
}

TEST(figure_9, paging_on_the_server_side_is_slow_from_timeouts) {
  const auto r = run_benchmark(figure_9(PagedSide::server, 128));
  EXPECT_GT(r.timeouts, 0u);
  EXPECT_EQ(r.dammed, r.timeouts);
  EXPECT_GT(r.execution, Duration::seconds(1));
  EXPECT_LT(r.packets, 30 * run_benchmark(figure_9(PagedSide::none, 128)).packets);
}

TEST(figure_9, one_read_of_many_pages_floods_no_queue_pair_on_any_device) {
  for (const auto& profile : net::rc::device_profiles()) {
    if (!profile.has_paging) continue;
    BenchmarkOptions o = options(std::string(profile.name).c_str(), PagedSide::client);
    o.operations = 1;
    o.ack_timeout = 18;
    o.size = 4U << 20;
    const auto r = run_benchmark(o);
    EXPECT_FALSE(r.flood()) << profile.name;
    EXPECT_EQ(r.page_faults, o.size / net::rc::page_bytes);
    EXPECT_LT(r.execution, us(1'000) * static_cast<std::int64_t>(r.page_faults)) << profile.name;
  }
}

TEST(figure_11a, of_128_queue_pairs_on_one_page_the_first_complete_after_1_ms_the_last_after_6) {
  BenchmarkOptions o = options("connectx-4", PagedSide::client);
  o.operations = o.queue_pairs = 128;
  o.size = 32;
  o.ack_timeout = 18;
  auto r = run_benchmark(o);
  EXPECT_TRUE(r.flood());
  // The first ones posted are the last ones told.
  for (std::size_t i = 0; i < 30; ++i) EXPECT_GT(r.completed_at[i], us(4'000)) << i;
  std::sort(r.completed_at.begin(), r.completed_at.end());
  EXPECT_NEAR(r.completed_at.front().to_microseconds(), 1'000, 300);
  EXPECT_NEAR(r.completed_at.back().to_microseconds(), 6'000, 1'000);
}

TEST(figure_11b, with_more_pages_it_takes_far_longer) {
  BenchmarkOptions o = options("connectx-4", PagedSide::client);
  o.operations = 512;
  o.queue_pairs = 128;
  o.size = 32;
  o.ack_timeout = 18;
  EXPECT_GT(run_benchmark(o).execution, Duration::milliseconds(100));
}

TEST(benchmark, without_paging_nothing_is_sent_again_on_any_device) {
  for (const auto& profile : net::rc::device_profiles()) {
    BenchmarkOptions o = options(std::string(profile.name).c_str(), PagedSide::none);
    o.operations = 1'000;
    o.queue_pairs = 7;
    o.size = 9'000;
    o.ack_timeout = 18;  // packets queue for longer than an ideal adapter's shortest timeout
    const auto r = run_benchmark(o);
    EXPECT_EQ(r.retransmissions + r.timeouts + r.rnr_naks + r.page_faults + r.failed, 0u);
    EXPECT_EQ(r.packets, 1'000u * 4);
  }
}

TEST(benchmark, posts_all_operations_however_far_apart_they_are) {
  BenchmarkOptions o = options("connectx-4", PagedSide::both);
  o.operations = 3;
  o.interval = longest_posting / 3;
  const auto r = run_benchmark(o);
  EXPECT_EQ(r.stuck + r.failed, 0u);
  EXPECT_GT(r.completed_at[2], o.interval * 2);
}

TEST(benchmark, with_one_seed_is_the_same_run) {
  BenchmarkOptions o = figure_9(PagedSide::both, 64);
  const auto a = run_benchmark(o), b = run_benchmark(o);
  EXPECT_EQ(a.execution, b.execution);
  EXPECT_EQ(a.packets, b.packets);
}

TEST(packet_file, says_in_each_answer_how_many_messages_were_carried_out) {
  BenchmarkOptions o = options("connectx-4", PagedSide::server);
  o.operations = 3;
  o.size = 5'000;
  o.second_verb = net::rc::Verb::write;
  std::vector<std::uint32_t> numbers;
  run_benchmark(o, [&](const TappedPacket& tapped) {
    const auto frame = frame_of(tapped.packet, ends_of(tapped), wire::LinkType::ethernet);
    if (frame.packet.aeth) numbers.push_back(frame.packet.aeth->message_number);
  });
  // An RNR NAK before the first one; then both packets of the READ's data, and two ACKs, between
  // which the second and the third page may be missing.
  std::vector<std::uint32_t> different = numbers;
  different.erase(std::unique(different.begin(), different.end()), different.end());
  EXPECT_EQ(different, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  EXPECT_EQ(std::count(numbers.begin(), numbers.end(), 3U), 1);
}

/// A READ that is followed by a SEND at some time, as when ArgoDSM takes its lock, with the timers
/// that UCX sets.
BenchmarkOptions figure_12(PagedSide side) {
  BenchmarkOptions o = options("connectx-4", side);
  o.second_verb = net::rc::Verb::send;
  o.rnr_timer = 13;  // 0.96 ms
  o.ack_timeout = 18;
  o.jitter = Duration::milliseconds(4);
  return o;
}

TEST(figure_12, run_times_with_paging_fall_into_two_groups_a_timeout_apart) {
  int short_ones = 0, long_ones = 0;
  BenchmarkOptions o = figure_12(PagedSide::both);
  const Duration timeout = net::rc::detected_timeout(o.profile, o.ack_timeout);
  for (o.seed = 1; o.seed <= 100; ++o.seed) {
    const BenchmarkResult r = run_benchmark(o);
    const bool is_long = r.execution > timeout;
    EXPECT_TRUE(is_long || r.execution < Duration::milliseconds(40)) << "seed " << o.seed;
    EXPECT_EQ(is_long, r.timeouts > 0) << "seed " << o.seed;
    ++(is_long ? long_ones : short_ones);
  }
  EXPECT_GT(short_ones, 20);
  EXPECT_GT(long_ones, 20);
  o = figure_12(PagedSide::none);
  for (o.seed = 1; o.seed <= 20; ++o.seed) EXPECT_EQ(run_benchmark(o).timeouts, 0u);
}

/// READs of a shuffle, two on each queue pair, with the timers that UCX sets.
BenchmarkOptions figure_13(PagedSide side, std::uint32_t queue_pairs) {
  BenchmarkOptions o = options("connectx-4", side);
  o.queue_pairs = queue_pairs;
  o.operations = 2 * queue_pairs;
  o.size = 512;
  o.rnr_timer = 13;
  o.ack_timeout = 18;
  return o;
}

TEST(figure_13, a_shuffle_over_200_queue_pairs_floods_when_its_reader_pages) {
  const BenchmarkResult paged = run_benchmark(figure_13(PagedSide::client, 200));
  EXPECT_TRUE(paged.flood());
  EXPECT_GT(paged.execution, Duration::seconds(1));
  EXPECT_LT(run_benchmark(figure_13(PagedSide::none, 200)).execution, Duration::milliseconds(1));
}

TEST(figure_13, a_shuffle_whose_reads_do_not_meet_takes_no_longer_with_up_to_2858_queue_pairs) {
  for (const std::uint32_t queue_pairs : {200U, 411U, 980U, 2'191U, 2'858U}) {
    BenchmarkOptions o = figure_13(PagedSide::client, queue_pairs);
    o.interval = Duration::milliseconds(1);
    const BenchmarkResult paged = run_benchmark(o);
    o.paged = PagedSide::none;
    const BenchmarkResult pinned = run_benchmark(o);
    EXPECT_FALSE(paged.flood()) << queue_pairs;
    EXPECT_LE(paged.packets, 2 * pinned.packets) << queue_pairs;
    EXPECT_NEAR(paged.execution.to_seconds() / pinned.execution.to_seconds(), 1, 0.01);
  }
}

}  // namespace
}  // namespace weft::rdma
