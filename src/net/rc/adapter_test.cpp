// SPDX-License-Identifier: Apache-2.0
// Two adapters and a link that loses packets, with pages that the kernel takes away at any time.
// Everything is drawn from a seed; WEFT_SEED=N runs one.
#include "net/rc/adapter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <queue>
#include <string>
#include <vector>

namespace weft::net::rc {
namespace {

constexpr Duration latency = Duration::microseconds(1);

/// The two ends and the packets under way between them.
class Link {
 public:
  Link(const DeviceProfile& profile, const AdapterOptions& options, std::uint32_t queue_pairs,
       Rng rng)
      : rng_(rng.split(9)), profile_(profile) {
    ends_.reserve(2);
    for (std::uint64_t i = 0; i < 2; ++i) {
      ends_.emplace_back(profile_, options, queue_pairs, rng.split(i));
    }
    completions_.assign(2, std::vector<std::vector<Completion>>(queue_pairs));
    received_.assign(2, std::vector<std::uint32_t>(queue_pairs));
  }

  double loss = 0;
  Adapter& end(std::size_t i) { return ends_[i]; }
  Instant now() const { return now_; }
  const std::vector<Completion>& completions(std::size_t end, std::uint32_t qp) const {
    return completions_[end][qp];
  }
  std::uint32_t received(std::size_t end, std::uint32_t qp) const { return received_[end][qp]; }
  /// Every packet that an end sent, in order, also those that were lost.
  const std::vector<Packet>& sent(std::size_t end) const { return sent_[end]; }

  void post(std::size_t end, std::uint32_t qp, const WorkRequest& work) {
    Outbox out;
    ends_[end].post(now_, qp, work, out);
    carry_out(end, out);
  }
  /// False when there is no end of it.
  bool run_until(Instant until) {
    for (std::uint64_t events = 0; events < 3'000'000; ++events) {
      const Instant arrival = arrivals_.empty() ? Instant::never() : arrivals_.top().at;
      const Instant next = std::min({arrival, ends_[0].next_deadline(), ends_[1].next_deadline()});
      if (next == Instant::never() || next > until) {
        if (until != Instant::never()) now_ = until;
        return true;
      }
      now_ = std::max(now_, next);
      Outbox out;
      if (arrival == next) {
        const Arrival came = arrivals_.top();
        arrivals_.pop();
        ends_[came.end].on_packet(now_, came.packet, out);
        carry_out(came.end, out);
        continue;
      }
      const std::size_t due = ends_[0].next_deadline() == next ? 0 : 1;
      ends_[due].on_deadline(now_, out);
      carry_out(due, out);
    }
    return false;
  }

 private:
  struct Arrival {
    Instant at;
    std::uint64_t order = 0;
    std::size_t end = 0;
    Packet packet;
    bool operator>(const Arrival& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void carry_out(std::size_t end, const Outbox& out) {
    for (const Packet& packet : out.packets) {
      sent_[end].push_back(packet);
      if (packet.lost_at_port || rng_.uniform() < loss) continue;
      arrivals_.push({now_ + latency, order_++, 1 - end, packet});
    }
    for (const Completion& c : out.completions) completions_[end][c.queue_pair].push_back(c);
    for (const std::uint32_t qp : out.received) ++received_[end][qp];
  }

  Rng rng_;
  DeviceProfile profile_;
  std::vector<Adapter> ends_;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  std::vector<std::vector<std::vector<Completion>>> completions_;
  std::vector<std::vector<std::uint32_t>> received_;
  std::array<std::vector<Packet>, 2> sent_;
  Instant now_{};
  std::uint64_t order_ = 0;
};

std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* one = std::getenv("WEFT_SEED")) return {std::strtoull(one, nullptr, 10)};
  std::vector<std::uint64_t> all;
  for (std::uint64_t seed = 1; seed <= count; ++seed) all.push_back(seed);
  return all;
}

std::string rerun(std::uint64_t seed) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  return "rerun: WEFT_SEED=" + std::to_string(seed) + " net_rc_test --gtest_filter=adapter." +
         test->name();
}

struct Posted {
  std::vector<std::uint64_t> ids;
  std::uint32_t messages = 0;  // SENDs and WRITEs
};

struct Load {
  std::uint32_t queue_pairs = 1;
  std::uint32_t operations = 1;
  bool invalidates = false;
};

/// Posts at random, in both directions, and has the kernel take pages away in between.
std::vector<std::vector<Posted>> drive(Link& link, const Load& load, Rng& rng) {
  std::vector<std::vector<Posted>> posted(2, std::vector<Posted>(load.queue_pairs));
  for (std::uint32_t i = 0; i < load.operations; ++i) {
    const auto end = static_cast<std::size_t>(rng.below(2));
    const auto qp = static_cast<std::uint32_t>(rng.below(load.queue_pairs));
    const WorkRequest work{.id = i,
                           .verb = static_cast<Verb>(rng.below(3)),
                           .local = rng.below(8) * 1'000,
                           .remote = rng.below(8) * 1'000,
                           .bytes = 1 + static_cast<std::uint32_t>(rng.below(20'000))};
    link.post(end, qp, work);
    posted[end][qp].ids.push_back(i);
    if (work.verb != Verb::read) ++posted[end][qp].messages;
    if (load.invalidates) {
      for (std::size_t e = 0; e < 2; ++e) link.end(e).pages().invalidate(rng.below(8));
    }
    const auto wait = static_cast<std::int64_t>(rng.exponential(rng.below(2) == 0 ? 2e3 : 1e6));
    EXPECT_TRUE(link.run_until(link.now() + Duration(wait)));
  }
  EXPECT_TRUE(link.run_until(Instant::never())) << "it goes on for ever";
  return posted;
}

/// Every operation completes once, in order; nothing completes well behind one that failed.
void check(const Link& link, const std::vector<std::vector<Posted>>& posted, bool may_fail) {
  for (std::size_t end = 0; end < 2; ++end) {
    for (std::uint32_t qp = 0; qp < posted[end].size(); ++qp) {
      const auto& done = link.completions(end, qp);
      const Posted& of = posted[end][qp];
      ASSERT_EQ(done.size(), of.ids.size());
      bool failed = false;
      for (std::size_t i = 0; i < done.size(); ++i) {
        EXPECT_EQ(done[i].id, of.ids[i]);
        EXPECT_FALSE(failed && done[i].good);
        failed = failed || !done[i].good;
      }
      EXPECT_TRUE(may_fail || !failed);
      const std::uint32_t received = link.received(1 - end, qp);
      if (failed) {
        EXPECT_LE(received, of.messages);
      } else {
        EXPECT_EQ(received, of.messages) << "each message once";
      }
    }
  }
}

/// A packet that goes out again with a PSN equals the one that went out with it before. A READ asks
/// for less from its middle on, in a request of its own.
void expect_resent_unchanged(const Link& link) {
  for (std::size_t end = 0; end < 2; ++end) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, Packet> first;
    for (const Packet& packet : link.sent(end)) {
      if (wire::is_response(packet.opcode) || packet.opcode == wire::Opcode::read_request) continue;
      const auto [at, is_new] = first.try_emplace({packet.queue_pair, packet.psn}, packet);
      if (is_new) continue;
      EXPECT_EQ(packet.opcode, at->second.opcode) << "PSN " << packet.psn;
      EXPECT_EQ(packet.length, at->second.length) << "PSN " << packet.psn;
      EXPECT_EQ(packet.payload, at->second.payload) << "PSN " << packet.psn;
      EXPECT_EQ(packet.address, at->second.address) << "PSN " << packet.psn;
    }
  }
}

TEST(adapter, whatever_is_lost_every_operation_completes_once_and_in_order) {
  for (const std::uint64_t seed : seeds(300)) {
    SCOPED_TRACE(rerun(seed));
    Rng rng(seed);
    const auto profiles = device_profiles();
    const AdapterOptions options{.retry_count = static_cast<std::uint8_t>(rng.below(8))};
    Load load{.queue_pairs = 1 + static_cast<std::uint32_t>(rng.below(4)),
              .operations = 1 + static_cast<std::uint32_t>(rng.below(60))};
    Link link(profiles[rng.below(profiles.size())], options, load.queue_pairs, rng.split(1));
    link.loss = rng.uniform() * 0.2;
    check(link, drive(link, load, rng), true);
    expect_resent_unchanged(link);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(adapter, pages_that_are_taken_away_at_any_time_lose_nothing) {
  for (const std::uint64_t seed : seeds(150)) {
    SCOPED_TRACE(rerun(seed));
    Rng rng(seed);
    const auto profiles = device_profiles();
    // All tries together take longer than a few page faults, also with an adapter without a floor.
    const AdapterOptions options{.paged = true,
                                 .ack_timeout = 12,
                                 .rnr_timer = static_cast<std::uint8_t>(1 + rng.below(16))};
    Load load{.queue_pairs = 1 + static_cast<std::uint32_t>(rng.below(4)),
              .operations = 1 + static_cast<std::uint32_t>(rng.below(40)),
              .invalidates = true};
    Link link(profiles[1 + rng.below(profiles.size() - 1)], options, load.queue_pairs,
              rng.split(1));
    check(link, drive(link, load, rng), false);
    expect_resent_unchanged(link);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(adapter, an_operation_fails_when_its_retries_are_exceeded) {
  for (std::uint8_t retries = 0; retries < 8; ++retries) {
    const DeviceProfile profile = *device_profile("connectx-4");
    AdapterOptions options{.ack_timeout = 16};
    options.retry_count = retries;
    Link link(profile, options, 1, Rng(1));
    link.loss = 1;
    link.post(0, 0, {.id = 7, .bytes = 100});
    link.post(0, 0, {.id = 8, .bytes = 100});
    ASSERT_TRUE(link.run_until(Instant::never()));
    ASSERT_EQ(link.completions(0, 0).size(), 2u);
    EXPECT_FALSE(link.completions(0, 0)[0].good || link.completions(0, 0)[1].good);
    EXPECT_EQ(link.end(0).counters().timeouts, retries + 1u);
    const Duration tries = detected_timeout(profile, 16) * (retries + 1);
    EXPECT_LE(tries, link.now() - Instant());
    EXPECT_LT(link.now() - Instant(), tries + Duration::milliseconds(1));
    link.post(0, 0, {.id = 9, .bytes = 1});
    EXPECT_FALSE(link.completions(0, 0).back().good) << "the queue pair is of no use any more";
  }
}

TEST(adapter, a_send_fails_when_the_receiver_is_not_ready_for_too_long) {
  for (std::uint8_t retries = 0; retries < 8; ++retries) {
    AdapterOptions options;
    options.rnr_retry = retries;
    Link link(*device_profile("ideal"), options, 1, Rng(1));
    link.end(1).set_receives(0, 0);
    link.post(0, 0, {.id = 1, .verb = Verb::send, .bytes = 100});
    ASSERT_TRUE(link.run_until(Instant() + Duration::milliseconds(100)));
    if (retries == 7) {  // stands for endless
      EXPECT_TRUE(link.completions(0, 0).empty());
      link.end(1).set_receives(0, 1);
      ASSERT_TRUE(link.run_until(Instant::never()));
      EXPECT_TRUE(link.completions(0, 0)[0].good);
      continue;
    }
    ASSERT_EQ(link.completions(0, 0).size(), 1u);
    EXPECT_FALSE(link.completions(0, 0)[0].good);
    EXPECT_EQ(link.end(1).counters().rnr_naks, retries + 1u);
  }
}

TEST(adapter, a_queue_pair_that_is_reset_begins_as_a_new_one) {
  Link link(*device_profile("connectx-4"), {.paged = true}, 1, Rng(1));
  link.post(0, 0, {.id = 1, .remote = 4096, .bytes = 100});
  ASSERT_TRUE(link.run_until(Instant() + Duration::milliseconds(1)));
  for (std::size_t e = 0; e < 2; ++e) link.end(e).reset(0);
  link.post(0, 0, {.id = 2, .remote = 4096, .bytes = 100});
  ASSERT_TRUE(link.run_until(Instant::never()));
  ASSERT_EQ(link.completions(0, 0).size(), 1u);
  EXPECT_EQ(link.completions(0, 0)[0].id, 2u);
  EXPECT_TRUE(link.completions(0, 0)[0].good);
}

TEST(adapter, a_write_that_waits_for_a_page_in_its_middle_goes_on_with_its_middle) {
  using wire::Opcode;
  Link link(*device_profile("connectx-4"), {.paged = true}, 1, Rng(1));
  link.end(0).pages().prefetch(0);
  for (const std::uint64_t there : {16, 17, 19}) link.end(1).pages().prefetch(there);
  const std::uint64_t remote = 16 * page_bytes;
  link.post(
      0, 0,
      {.id = 1, .verb = Verb::write, .remote = remote, .bytes = 4 * mtu_bytes, .pinned = true});
  ASSERT_TRUE(link.run_until(Instant::never()));
  std::vector<std::pair<std::uint32_t, Opcode>> sent;
  for (const Packet& packet : link.sent(0)) {
    sent.emplace_back(packet.psn, packet.opcode);
    EXPECT_EQ(packet.length, 4 * mtu_bytes) << "what the header of the first one says of the whole";
  }
  const std::vector<std::pair<std::uint32_t, Opcode>> expected = {
      {0, Opcode::write_first}, {1, Opcode::write_middle}, {2, Opcode::write_middle},
      {3, Opcode::write_last},  {2, Opcode::write_middle}, {3, Opcode::write_last}};
  EXPECT_EQ(sent, expected);
  EXPECT_TRUE(link.completions(0, 0).at(0).good);
}

TEST(adapter, a_write_that_was_carried_out_is_acknowledged_again_without_its_page) {
  const auto profile = *device_profile("connectx-4");
  Adapter responder(profile, {.paged = true}, 1, Rng(1));
  responder.pages().prefetch(1);
  const Packet write{.opcode = wire::Opcode::write_only,
                     .wants_ack = true,
                     .length = 100,
                     .payload = 100,
                     .address = page_bytes};
  for (int i = 0; i < 2; ++i) {
    Outbox out;
    responder.on_packet({}, write, out);
    ASSERT_EQ(out.packets.size(), 1u) << i;
    EXPECT_EQ(out.packets[0].opcode, wire::Opcode::acknowledge);
    EXPECT_EQ(out.packets[0].syndrome, wire::ack_syndrome);
    EXPECT_EQ(out.packets[0].psn, 0u);
    EXPECT_EQ(out.packets[0].message_number, 1u);
    EXPECT_EQ(out.received.size(), i == 0 ? 1u : 0u);
    responder.pages().invalidate(1);
  }
  EXPECT_EQ(responder.pages().faults(), 0u);
}

TEST(adapter, each_missing_response_of_a_long_read_is_asked_for_at_once) {
  const auto profile = *device_profile("connectx-4");
  Adapter requester(profile, {}, 1, Rng(1));
  Outbox out;
  requester.post({}, 0, {.id = 1, .bytes = 10 * mtu_bytes}, out);
  Instant now{};
  const auto respond = [&](std::uint32_t psn) {
    requester.on_packet(now,
                        {.opcode = wire::Opcode::read_response_middle,
                         .syndrome = wire::ack_syndrome,
                         .psn = psn,
                         .payload = mtu_bytes},
                        out);
  };
  const auto asked_from = [&](std::uint32_t missing) {
    out.packets.clear();
    for (std::uint32_t psn = missing + 1; psn < 10; ++psn) respond(psn);
    now = requester.next_deadline();
    requester.on_deadline(now, out);
    ASSERT_EQ(out.packets.size(), 1u) << "once, whatever came behind it";
    EXPECT_EQ(out.packets[0].psn, missing);
    EXPECT_EQ(out.packets[0].length, (10 - missing) * mtu_bytes);
  };
  for (const std::uint32_t missing : {0U, 2U, 3U, 8U}) {
    for (std::uint32_t psn = 0; psn < missing; ++psn) respond(psn);
    asked_from(missing);
  }
  respond(8);
  respond(9);
  ASSERT_EQ(out.completions.size(), 1u);
  EXPECT_TRUE(out.completions[0].good);
  EXPECT_EQ(requester.counters().implied_naks, 4u);
  EXPECT_EQ(requester.counters().timeouts, 0u);
  EXPECT_LT(now - Instant(), Duration::milliseconds(1));
}

TEST(adapter, what_goes_out_again_does_so_until_the_queue_pair_has_stopped) {
  // 16 READs to one page that is not there. The first response that comes back finds no page; the
  // other requests are on their way out by then.
  const DeviceProfile profile = *device_profile("connectx-4");
  Link link(profile, {.paged = true}, 1, Rng(1));
  link.end(1).pages().prefetch(1);
  const std::uint32_t reads = profile.most_reads;
  for (std::uint64_t id = 0; id < reads; ++id) {
    link.post(0, 0, {.id = id, .local = page_bytes, .remote = page_bytes, .bytes = 100});
  }
  ASSERT_TRUE(link.run_until(Instant() + profile.client_retry - Duration::microseconds(10)));
  EXPECT_EQ(link.sent(0).size(), reads);
  ASSERT_TRUE(link.run_until(Instant() + profile.client_retry + Duration::microseconds(50)));
  EXPECT_EQ(link.sent(0).size(), 2 * reads) << "all of them, each once";
  ASSERT_TRUE(link.run_until(Instant::never()));
  EXPECT_EQ(link.completions(0, 0).size(), reads);
}

TEST(adapter, never_has_more_reads_without_answer_than_it_may_after_many_were_lost) {
  const auto profile = *device_profile("connectx-4");
  Adapter requester(profile, {}, 1, Rng(1));
  Outbox out;
  Instant now{};
  requester.post(now, 0, {.id = 0, .bytes = 100}, out);
  requester.on_packet(
      now, {.opcode = wire::Opcode::acknowledge, .syndrome = wire::rnr_nak_syndrome(14), .psn = 0},
      out);
  now = now + Duration::milliseconds(1);
  for (std::uint64_t id = 1; id <= 40; ++id) requester.post(now, 0, {.id = id, .bytes = 100}, out);
  const auto answer = [&](std::uint32_t psn) {
    requester.on_packet(now,
                        {.opcode = wire::Opcode::read_response_only,
                         .syndrome = wire::ack_syndrome,
                         .psn = psn,
                         .payload = 100},
                        out);
  };
  const auto sends_until = [&](Instant until) {
    out.packets.clear();
    while (requester.next_deadline() <= until) {
      now = requester.next_deadline();
      requester.on_deadline(now, out);
    }
    return out.packets.size();
  };
  EXPECT_EQ(sends_until(now + Duration::milliseconds(5)), 1u) << "the one that was not lost";
  answer(0);
  EXPECT_EQ(sends_until(now + Duration::milliseconds(600)), profile.most_reads) << "a timeout";
  for (std::uint32_t psn = 1; psn <= 40; ++psn) {
    out.packets.clear();
    answer(psn);
    EXPECT_EQ(out.packets.size(), psn + profile.most_reads <= 40 ? 1u : 0u) << psn;
  }
  EXPECT_EQ(out.completions.size(), 41u);
  EXPECT_EQ(requester.counters().retransmissions, 1u + 40u);
}

TEST(adapters, count_retries_from_the_last_progress_on) {
  const auto profile = *device_profile("ideal");
  Adapter adapter(profile, {.ack_timeout = 8, .retry_count = 1}, 1, Rng(1));
  Outbox out;
  adapter.post({}, 0, {.id = 1, .verb = Verb::write, .bytes = 10 * mtu_bytes}, out);
  Instant now{};
  // A timeout, and one packet more arrives: ten times over.
  for (std::uint32_t psn = 0; psn < 10; ++psn) {
    const std::uint64_t timeouts = adapter.counters().timeouts;
    while (adapter.counters().timeouts == timeouts && out.completions.empty()) {
      now = adapter.next_deadline();
      adapter.on_deadline(now, out);
    }
    adapter.on_packet(now, {.opcode = wire::Opcode::acknowledge, .syndrome = 0x1F, .psn = psn},
                      out);
  }
  ASSERT_EQ(out.completions.size(), 1u);
  EXPECT_TRUE(out.completions[0].good);
}

}  // namespace
}  // namespace weft::net::rc
