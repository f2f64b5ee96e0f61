// SPDX-License-Identifier: Apache-2.0
// Times are worked out by hand on a star: links carry a byte per nanosecond and take 10 ns, the
// switch takes 100 ns and hands packets on whole, packets have at most 1,000 bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "sim/run/world.hpp"
#include "sim/workload/patterns.hpp"
#include "sim/workload/ranks.hpp"

namespace weft::sim {
namespace {

using Kind = Action::Kind;

/// A list of actions for every rank.
class Script final : public Program {
 public:
  explicit Script(std::vector<std::vector<Action>> actions) : actions_(std::move(actions)) {}
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(actions_.size()); }
  Action next(std::uint32_t rank, Cursor& cursor) const override {
    const std::uint32_t step = cursor.step++;
    return step < actions_[rank].size() ? actions_[rank][step] : Action{};
  }

 private:
  std::vector<std::vector<Action>> actions_;
};

Action send_to(std::uint32_t peer, std::uint64_t bytes, std::uint64_t match = 0) {
  return {.kind = Kind::send, .peer = peer, .match = match, .bytes = bytes};
}
Action receive_from(std::uint32_t peer, std::uint64_t bytes, std::uint64_t match = 0) {
  return {.kind = Kind::receive, .peer = peer, .match = match, .bytes = bytes};
}
Action compute_ns(std::int64_t ns) {
  return {.kind = Kind::compute, .time = PicoDuration::nanoseconds(ns)};
}
constexpr Action wait{.kind = Kind::wait_all};
constexpr Action progress{.kind = Kind::mark_progress};

std::unique_ptr<World> star(std::uint32_t hosts, std::uint8_t levels = 1,
                            std::int64_t overhead_ns = 0, std::int64_t gap_ns = 0) {
  Scenario scenario;
  scenario.topology = "star:" + std::to_string(hosts);
  NetworkOptions& o = scenario.network;
  const LinkOptions link{.rate = Bandwidth::bytes_per_second(1'000'000'000),
                         .latency = PicoDuration::nanoseconds(10)};
  o.host_link = o.local_link = o.global_link = link;
  o.mtu = 1000;
  o.buffer_bytes = 64'000;
  o.switch_delay = PicoDuration::nanoseconds(100);
  o.cut_through = false;
  o.levels.resize(levels);
  o.host_overhead = PicoDuration::nanoseconds(overhead_ns);
  o.injection_gap = PicoDuration::nanoseconds(gap_ns);
  auto world = World::make(scenario);
  EXPECT_TRUE(world.ok()) << (world.ok() ? "" : world.error().message);
  return std::move(world).value();
}

std::vector<std::uint32_t> first_hosts(std::uint32_t count) {
  std::vector<std::uint32_t> hosts(count);
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

constexpr RankOptions bare{.eager_bytes = 1000, .header_bytes = 0};
/// From posting to arrival of a message of one packet.
constexpr std::int64_t way_ns(std::int64_t bytes) {
  return 2 * (bytes + 10) + 100;
}

/// Returns how long the slowest rank waited in a script.
std::int64_t waited_ns(const Script& script, std::uint32_t rank, const RankOptions& options) {
  const auto world = star(script.ranks());
  Ranks ranks(script, options, first_hosts(script.ranks()), world->network(), world->agents());
  world->run_until(PicoInstant(1'000'000'000));
  EXPECT_EQ(ranks.error(), "");
  EXPECT_TRUE(ranks.ended());
  return ranks.waited(rank).to_nanoseconds();
}

TEST(ranks, wait_for_an_eager_message_as_long_as_it_travels) {
  const Script script({{send_to(1, 500), wait}, {receive_from(0, 500), wait}});
  EXPECT_EQ(waited_ns(script, 0, bare), 0);
  EXPECT_EQ(waited_ns(script, 1, bare), way_ns(500));
}

TEST(ranks, find_what_came_before_it_was_asked_for) {
  const Script script({{send_to(1, 500), wait}, {compute_ns(5000), receive_from(0, 500), wait}});
  EXPECT_EQ(waited_ns(script, 1, bare), 0);
}

TEST(ranks, announce_long_messages_and_send_them_when_asked) {
  RankOptions options = bare;
  options.eager_bytes = 100;
  options.header_bytes = 8;
  const Script script({{send_to(1, 500), wait}, {receive_from(0, 500), wait}});
  // There, back, and the content with its header; the sender waits until its last byte has left.
  const std::int64_t round = 2 * way_ns(8);
  EXPECT_EQ(waited_ns(script, 1, options), round + way_ns(508));
  EXPECT_EQ(waited_ns(script, 0, options), round + 508);
}

TEST(ranks, complete_a_send_when_it_has_left_a_link_that_has_become_faster) {
  RankOptions options = bare;
  options.eager_bytes = 100;
  const auto request = [](Action action, std::uint32_t number) {
    action.request = number;
    return action;
  };
  // Rank 0 waits for its second send only, whose content leaves right behind that of the first.
  const Script script({{request(send_to(1, 500, 1), 1),
                        request(send_to(1, 500, 2), 2),
                        {.kind = Kind::wait_for, .request = 2},
                        progress,
                        wait},
                       {receive_from(0, 500, 1), receive_from(0, 500, 2), wait}});
  const auto world = star(2);
  const auto links = world->host_links(0);
  Ranks ranks(script, options, first_hosts(2), world->network(), world->agents());
  // The first question comes after two ways of a byte, and its content begins to leave by a slow
  // link, for 500 us. That is fast again 10 ns later: both contents leave within 1,000 ns more.
  world->run_until(PicoInstant((2 * way_ns(1) - 1) * 1000));
  world->set_rate(links, Bandwidth::bytes_per_second(1'000'000));
  world->run_until(PicoInstant((2 * way_ns(1) + 10) * 1000));
  world->set_rate(links, Bandwidth{});
  world->run_until(PicoInstant((2 * way_ns(1) + 10 + 1000) * 1000));
  EXPECT_EQ(ranks.iterations(0), 1u);
  EXPECT_TRUE(ranks.ended(0));
}

TEST(ranks, ask_for_an_announced_message_when_they_want_it) {
  RankOptions options = bare;
  options.eager_bytes = 100;
  options.header_bytes = 8;
  const Script script({{send_to(1, 500), wait}, {compute_ns(5000), receive_from(0, 500), wait}});
  EXPECT_EQ(waited_ns(script, 1, options), way_ns(8) + way_ns(508));
}

TEST(ranks, exchange_long_messages_both_ways_at_once_even_if_one_rank_is_late) {
  RankOptions options = bare;
  options.header_bytes = 8;
  const std::int64_t content_ns = 20'000;
  const Script script({{send_to(1, 20'000), receive_from(1, 20'000), wait},
                       {compute_ns(5000), receive_from(0, 20'000), send_to(0, 20'000), wait}});
  // Rank 0 asks for rank 1's message while its own leaves: the question must not wait behind it.
  EXPECT_LT(waited_ns(script, 1, options), content_ns * 3 / 2);
}

TEST(ranks, send_messages_of_no_bytes_without_headers_as_a_byte) {
  const Script script({{send_to(1, 0), wait}, {receive_from(0, 0), wait}});
  EXPECT_EQ(waited_ns(script, 1, bare), way_ns(1));
}

TEST(ranks, announce_messages_without_headers_as_a_byte) {
  RankOptions options = bare;
  options.eager_bytes = 100;
  const Script script({{send_to(1, 500), wait}, {receive_from(0, 500), wait}});
  EXPECT_EQ(waited_ns(script, 1, options), 2 * way_ns(1) + way_ns(500));
}

TEST(ranks, match_messages_by_their_names_whatever_comes_first) {
  const Script script({{send_to(1, 10, 1), send_to(1, 20, 2), wait},
                       {receive_from(0, 20, 2), receive_from(0, 10, 1), wait}});
  EXPECT_EQ(waited_ns(script, 1, bare), way_ns(20) + 10);  // behind the first one on both links
}

/// A script whose actions come from a feed, which remembers completed requests.
class ScriptFeed final : public Feed {
 public:
  explicit ScriptFeed(std::vector<std::vector<Action>> actions)
      : completed(actions.size()), actions_(std::move(actions)), step_(actions_.size()) {}
  std::uint32_t ranks() const override { return static_cast<std::uint32_t>(actions_.size()); }
  Action next(std::uint32_t rank) override {
    const std::size_t step = step_[rank]++;
    return step < actions_[rank].size() ? actions_[rank][step] : Action{};
  }
  void on_completed(std::uint32_t rank, std::uint32_t request) override {
    completed[rank].push_back(request);
  }
  std::vector<std::vector<std::uint32_t>> completed;

 private:
  std::vector<std::vector<Action>> actions_;
  std::vector<std::size_t> step_;
};

Action numbered(Action action, std::uint32_t request) {
  action.request = request;
  return action;
}

std::int64_t end_ns(ScriptFeed& feed, std::uint32_t rank) {
  const auto world = star(feed.ranks());
  Ranks ranks(feed, bare, first_hosts(feed.ranks()), world->network(), world->agents());
  world->run_until(PicoInstant(1'000'000'000));
  EXPECT_TRUE(ranks.ended(rank));
  return (ranks.last_end() - PicoInstant{}).to_nanoseconds();
}

TEST(ranks, wait_for_one_request_and_leave_the_others_open) {
  const Action wait_for_8{.kind = Kind::wait_for, .request = 8};
  ScriptFeed feed({{compute_ns(5000), send_to(1, 10, 1)},
                   {numbered(receive_from(0, 10, 1), 7), numbered(receive_from(2, 500, 2), 8),
                    wait_for_8, compute_ns(9000), wait},
                   {send_to(1, 500, 2)}});
  EXPECT_EQ(end_ns(feed, 1), way_ns(500) + 9000);
  EXPECT_EQ(feed.completed[1], (std::vector<std::uint32_t>{8, 7}));
}

TEST(ranks, wait_for_whatever_completes_first) {
  ScriptFeed feed({{compute_ns(5000), send_to(1, 10, 1)},
                   {numbered(receive_from(0, 10, 1), 7),
                    numbered(receive_from(2, 500, 2), 8),
                    {.kind = Kind::wait_any},
                    compute_ns(9000),
                    wait},
                   {send_to(1, 500, 2)}});
  EXPECT_EQ(end_ns(feed, 1), way_ns(500) + 9000);
}

TEST(ranks, take_a_message_of_any_size_if_they_ask_for_that) {
  ScriptFeed feed({{send_to(1, 500)}, {numbered(receive_from(0, any_bytes), 1), wait}});
  end_ns(feed, 1);
  EXPECT_EQ(feed.completed[1], (std::vector<std::uint32_t>{1}));
}

TEST(ranks, stand_still_with_an_error_when_sizes_do_not_fit) {
  const Script script({{send_to(1, 10), wait}, {receive_from(0, 20), wait}});
  const auto world = star(2);
  Ranks ranks(script, bare, first_hosts(2), world->network(), world->agents());
  world->run_until(PicoInstant(1'000'000'000));
  EXPECT_EQ(ranks.error(), "rank 0 sends 10 bytes to rank 1, which receives 20");
}

TEST(ranks, count_progress_and_what_they_wait_while_they_do) {
  const Script script(
      {{compute_ns(1000), progress, compute_ns(1000), progress}, {receive_from(0, 10), wait}});
  const auto world = star(2);
  Ranks ranks(script, bare, first_hosts(2), world->network(), world->agents());
  world->run_until(PicoInstant(1'500'000));
  EXPECT_EQ(ranks.iterations(0), 1U);
  EXPECT_DOUBLE_EQ(ranks.progress(0), 1.5);
  EXPECT_EQ(ranks.progress(1), 0);
  EXPECT_EQ(ranks.waited(1).to_nanoseconds(), 1500);
  EXPECT_FALSE(ranks.ended());
}

TEST(ranks, need_less_than_a_kibibyte) {
  EXPECT_LE(Ranks::bytes_per_rank(), 1024U);
}

// LogGP's o, 1 us, occupies the processor before a message enters the network, and after one has
// arrived.

struct Ended {
  std::int64_t end_ns = 0;  ///< of the last rank
  std::vector<std::int64_t> waited_ns;
};

Ended run_with_overhead(const Script& script, std::int64_t gap_ns = 0,
                        const RankOptions& options = bare) {
  const auto world = star(script.ranks(), 1, 1000, gap_ns);
  Ranks ranks(script, options, first_hosts(script.ranks()), world->network(), world->agents());
  world->run_until(PicoInstant(1'000'000'000));
  EXPECT_EQ(ranks.error(), "");
  EXPECT_TRUE(ranks.ended());
  Ended ended{.end_ns = (ranks.last_end() - PicoInstant{}).to_nanoseconds()};
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    ended.waited_ns.push_back(ranks.waited(r).to_nanoseconds());
  }
  return ended;
}

TEST(ranks_overhead, a_round_trip_takes_it_four_times) {
  const Script script({{send_to(1, 8), wait, receive_from(1, 8), wait},
                       {receive_from(0, 8), wait, send_to(0, 8), wait}});
  const Ended ended = run_with_overhead(script);
  EXPECT_EQ(ended.end_ns, 2 * way_ns(8) + 4 * 1000);
  // Rank 0 waits while the messages travel and while rank 1 receives and sends.
  EXPECT_EQ(ended.waited_ns[0], 2 * way_ns(8) + 2 * 1000);
  EXPECT_EQ(ended.waited_ns[1], 1000 + way_ns(8));
}

TEST(ranks_overhead, sends_leave_one_after_the_other) {
  const Script script(
      {{send_to(1, 8, 1), send_to(1, 8, 2), send_to(1, 8, 3), wait},
       {receive_from(0, 8, 1), receive_from(0, 8, 2), receive_from(0, 8, 3), wait}});
  // The last one leaves after three overheads, and is received after one. The others are received
  // while it is sent.
  const Ended ended = run_with_overhead(script);
  EXPECT_EQ(ended.end_ns, 3 * 1000 + way_ns(8) + 1000);
  EXPECT_EQ(ended.waited_ns[1], 1000 + way_ns(8));
  // An adapter with a longer gap between messages delays the second by it, and the third again.
  EXPECT_EQ(run_with_overhead(script, 1500).end_ns, 1000 + 2 * 1500 + way_ns(8) + 1000);
}

TEST(ranks_overhead, messages_that_come_together_are_received_one_after_the_other) {
  const Script script({{send_to(2, 8), wait},
                       {send_to(2, 8), wait},
                       {receive_from(0, 8), receive_from(1, 8), wait}});
  EXPECT_EQ(run_with_overhead(script).end_ns, 1000 + way_ns(8) + 2 * 1000);
}

TEST(ranks_overhead, of_a_message_that_came_during_a_computation_follows_it) {
  const Script script(
      {{send_to(1, 8), wait}, {receive_from(0, 8), compute_ns(5000), wait, compute_ns(100)}});
  const Ended ended = run_with_overhead(script);
  EXPECT_EQ(ended.end_ns, 5000 + 1000 + 100);
  EXPECT_EQ(ended.waited_ns[1], 0);
}

TEST(ranks_overhead, is_spent_before_the_end_of_the_program) {
  const Script came_before({{send_to(1, 8)}, {compute_ns(5000), receive_from(0, 8)}});
  EXPECT_EQ(run_with_overhead(came_before).end_ns, 5000 + 1000);
  const Script sends({{send_to(1, 8)}, {}});
  EXPECT_EQ(run_with_overhead(sends).end_ns, 1000);
}

TEST(ranks_overhead, of_a_long_message_is_that_of_a_short_one) {
  // Announcing and asking are the adapters' work.
  RankOptions options = bare;
  options.eager_bytes = 100;
  options.header_bytes = 8;
  const Script script({{send_to(1, 500), wait}, {receive_from(0, 500), wait}});
  EXPECT_EQ(run_with_overhead(script, 0, options).end_ns,
            1000 + 2 * way_ns(8) + way_ns(508) + 1000);
}

/// Levels that a network's messages have, by the ranks between which they go.
class LevelsSeen final : public NetworkObserver {
 public:
  void on_queued(PicoInstant, LinkId, std::uint8_t, std::uint64_t) override {}
  void on_transmit(LinkId, const Packet&, const Message&, std::uint64_t,
                   const net::Transit&) override {}
  void on_delivered(PicoInstant, const Message& message) override {
    seen[{message.request.source, message.request.destination}] = message.request.level;
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint8_t> seen;
};

TEST(ranks, give_messages_their_senders_level_else_their_receivers_else_the_jobs) {
  const Script script({{send_to(1, 10), send_to(2, 10)},
                       {send_to(0, 10), send_to(2, 10)},
                       {send_to(0, 10), send_to(1, 10), send_to(3, 10)},
                       {send_to(2, 10)}});
  const auto world = star(4, 3);
  RankOptions options = bare;
  options.level = 0;
  Ranks ranks(script, options, first_hosts(4), world->network(), world->agents());
  ranks.set_level(0, 1);
  ranks.set_level(1, 2);
  LevelsSeen levels;
  world->network().set_observer(&levels);
  world->run_until(PicoInstant(1'000'000'000));
  EXPECT_EQ((levels.seen[{0, 1}]), 1);  // the sender's
  EXPECT_EQ((levels.seen[{1, 0}]), 2);
  EXPECT_EQ((levels.seen[{2, 0}]), 1);  // the receiver's
  EXPECT_EQ((levels.seen[{1, 2}]), 2);
  EXPECT_EQ((levels.seen[{2, 3}]), 0);  // the job's
}

TEST(ranks, have_the_levels_that_they_are_given_while_they_run) {
  const Script script({{send_to(1, 10), compute_ns(10'000), send_to(1, 10)}, {}});
  const auto world = star(2, 3);
  Ranks ranks(script, bare, first_hosts(2), world->network(), world->agents());
  LevelsSeen levels;
  world->network().set_observer(&levels);
  world->run_until(PicoInstant() + PicoDuration::microseconds(5));
  EXPECT_EQ((levels.seen[{0, 1}]), 0);
  ranks.set_job_level(2);
  world->run_until(PicoInstant() + PicoDuration::microseconds(30));
  EXPECT_EQ((levels.seen[{0, 1}]), 2);
}

// The patterns.

PatternOptions of(Pattern pattern, std::uint32_t ranks) {
  return {.pattern = pattern, .ranks = ranks, .message_bytes = 4096, .iterations = 3};
}

struct Exchanges {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> bytes;  // (from, to)
  std::uint64_t messages = 0;
};

/// The messages of one iteration; every send must have its receive.
Exchanges exchanges_of(const PatternOptions& options) {
  const auto program = make_pattern(options);
  EXPECT_TRUE(program.ok());
  Exchanges result;
  std::multiset<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint64_t>> sent;
  auto received = sent;
  for (std::uint32_t r = 0; r < options.ranks; ++r) {
    Cursor cursor;
    while (cursor.iteration == 0) {
      const Action a = (*program)->next(r, cursor);
      if (a.kind == Kind::receive) received.insert({a.peer, r, a.match, a.bytes});
      if (a.kind != Kind::send) continue;
      sent.insert({r, a.peer, a.match, a.bytes});
      result.bytes[{r, a.peer}] += a.bytes;
      ++result.messages;
    }
  }
  EXPECT_EQ(sent, received);
  return result;
}

TEST(patterns, flood_pairs_pairs_the_halves) {
  PatternOptions options = of(Pattern::flood_pairs, 8);
  options.messages = 5;
  const Exchanges e = exchanges_of(options);
  EXPECT_EQ(e.messages, 8U * 5);
  EXPECT_EQ((e.bytes.at({1, 5})), 5U * 4096);
  EXPECT_EQ((e.bytes.at({5, 1})), 5U * 4096);
}

TEST(patterns, nearest_neighbor_is_a_grid_without_wraparound) {
  // 4 × 5: 3 · 5 + 4 · 4 = 31 edges, each both ways.
  const Exchanges e = exchanges_of(of(Pattern::nearest_neighbor, 20));
  EXPECT_EQ(e.messages, 62U);
  EXPECT_TRUE(e.bytes.contains({0, 1}));
  EXPECT_TRUE(e.bytes.contains({0, 5}));
  EXPECT_FALSE(e.bytes.contains({4, 5}));  // the end of a row and the beginning of the next
}

TEST(patterns, random_pairs_match_each_lower_rank_with_an_upper_one) {
  const Exchanges e = exchanges_of(of(Pattern::random_pairs, 20));
  EXPECT_EQ(e.messages, 20U);
  for (const auto& [pair, bytes] : e.bytes) {
    EXPECT_NE(pair.first < 10, pair.second < 10);
    EXPECT_TRUE(e.bytes.contains({pair.second, pair.first}));
  }
  PatternOptions other = of(Pattern::random_pairs, 20);
  other.seed = 2;
  EXPECT_NE(exchanges_of(other).bytes, e.bytes);
}

TEST(patterns, all_to_all_is_everybody_with_everybody) {
  EXPECT_EQ(exchanges_of(of(Pattern::all_to_all, 8)).bytes.size(), 56U);
}

TEST(patterns, mini_amg_goes_to_coarser_grids_and_back) {
  // 4 × 4: the grid itself has 24 edges, that of every second row and column 4. Down and up again:
  // the finest twice, the coarsest once. Its messages are half as long.
  const Exchanges e = exchanges_of(of(Pattern::mini_amg, 16));
  EXPECT_EQ(e.messages, 2U * (24 + 4 + 24));
  EXPECT_EQ((e.bytes.at({0, 1})), 2U * 4096);
  EXPECT_EQ((e.bytes.at({0, 2})), 2048U);
}

std::vector<std::int64_t> compute_of(const PatternOptions& options, std::uint64_t iteration) {
  const auto program = make_pattern(options);
  std::vector<std::int64_t> times;
  for (std::uint32_t r = 0; r < options.ranks; ++r) {
    Cursor cursor{.iteration = iteration};
    Action a;
    do {
      a = (*program)->next(r, cursor);
    } while (a.kind != Kind::compute);
    times.push_back(a.time.ticks());
  }
  return times;
}

TEST(patterns, crystal_router_reaches_everybody_bit_by_bit) {
  const Exchanges seen = exchanges_of(of(Pattern::crystal_router, 32));
  EXPECT_EQ(seen.messages, 32U * 5U);
  for (const auto& [pair, bytes] : seen.bytes) {
    const std::uint32_t differs = pair.first ^ pair.second;
    EXPECT_EQ(differs & (differs - 1), 0U) << pair.first << " to " << pair.second;
    EXPECT_EQ(bytes, 4096U);
  }
  const auto odd = make_pattern(of(Pattern::crystal_router, 12));
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().message, "ranks is 12: crystal-router needs a power of two");
}

TEST(patterns, pf3d_is_all_to_all_in_rows_and_then_in_columns) {
  // 32 ranks in 4 rows of 8.
  const Exchanges seen = exchanges_of(of(Pattern::pf3d, 32));
  EXPECT_EQ(seen.messages, 32U * (7U + 3U));
  for (const auto& [pair, bytes] : seen.bytes) {
    EXPECT_TRUE(pair.first / 8 == pair.second / 8 || pair.first % 8 == pair.second % 8);
  }
}

TEST(patterns, compute_between_the_least_share_and_the_whole) {
  PatternOptions options = of(Pattern::all_to_all, 64);
  options.compute = PicoDuration(1'000'000);
  options.least_compute = 0.9;
  const auto times = compute_of(options, 0);
  EXPECT_GE(*std::min_element(times.begin(), times.end()), 900'000);
  EXPECT_LE(*std::max_element(times.begin(), times.end()), 1'000'000);
  EXPECT_EQ(times, compute_of(options, 2)) << "constant across iterations";
}

TEST(patterns, leave_all_computation_to_one_rank_when_told) {
  PatternOptions options = of(Pattern::all_to_all, 4);
  options.compute = PicoDuration(1000);
  options.one_computes = true;
  EXPECT_EQ(compute_of(options, 0), (std::vector<std::int64_t>{1000, 0, 0, 0}));
}

TEST(patterns, mini_paradis_drifts_apart) {
  PatternOptions options = of(Pattern::mini_paradis, 16);
  options.iterations = 0;
  options.compute = PicoDuration(1'000'000);
  options.drift = 0.01;
  const auto spread = [&](std::uint64_t iteration) {
    const auto times = compute_of(options, iteration);
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    return *most - *least;
  };
  EXPECT_LT(spread(0), spread(20));
  EXPECT_EQ(spread(10'000), 1'000'000);
}

TEST(patterns, refuse_what_cannot_be) {
  const auto error_of = [](PatternOptions options) {
    const auto made = make_pattern(options);
    return made.ok() ? std::string() : made.error().message;
  };
  EXPECT_EQ(error_of(of(Pattern::flood_pairs, 7)), "ranks is 7: flood-pairs needs an even number");
  EXPECT_EQ(error_of(of(Pattern::all_to_all, 1)), "ranks is 1: a workload has 2 to 16777216");
  PatternOptions options = of(Pattern::all_to_all, 4);
  options.messages = 0;
  EXPECT_EQ(error_of(options), "messages is 0: use 1 to 4096");
  EXPECT_FALSE(parse_workload_pattern("flood").ok());
  EXPECT_EQ(*parse_workload_pattern("mini-amg"), Pattern::mini_amg);
}

class every_pattern : public testing::TestWithParam<Pattern> {};

TEST_P(every_pattern, runs_to_its_end_the_same_every_time) {
  PatternOptions options = of(GetParam(), 20);
  options.compute = PicoDuration::microseconds(20);
  const auto program = make_pattern(options);
  ASSERT_TRUE(program.ok());
  std::set<std::uint64_t> hashes;
  for (int run = 0; run < 2; ++run) {
    const auto world = star(20);
    RankOptions rank_options{.eager_bytes = 2048, .compute_noise = 0.02};
    Ranks ranks(**program, rank_options, first_hosts(20), world->network(), world->agents());
    world->run_until(PicoInstant::never());
    EXPECT_EQ(ranks.error(), "");
    EXPECT_TRUE(ranks.ended());
    for (std::uint32_t r = 0; r < 20; ++r) EXPECT_EQ(ranks.iterations(r), 3U);
    EXPECT_TRUE(world->network().at_rest());
    hashes.insert(world->engine().trace_hash());
  }
  EXPECT_EQ(hashes.size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(all, every_pattern,
                         testing::Values(Pattern::flood_pairs, Pattern::nearest_neighbor,
                                         Pattern::random_pairs, Pattern::all_to_all,
                                         Pattern::mini_paradis, Pattern::mini_amg));

}  // namespace
}  // namespace weft::sim
