// SPDX-License-Identifier: Apache-2.0
#include "rdma/diagnosis.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rdma/benchmark.hpp"
#include "rdma/diagnosis_packets_for_test.hpp"
#include "rdma/diagnosis_score_for_test.hpp"
#include "rdma/packet_file.hpp"
#include "wire/archive/golden.hpp"
#include "wire/capture/capture_reader.hpp"

namespace weft::rdma {
namespace {

TEST(diagnosis, of_generated_captures_has_99_per_cent_of_precision_and_recall) {
  expect_good(score(1, 500));
}

std::vector<Finding> diagnose(const BenchmarkOptions& options) {
  Diagnosis diagnosis;
  std::uint64_t number = 0;
  run_benchmark(options, [&](const TappedPacket& tapped) {
    diagnosis.add(++number, static_cast<std::uint64_t>(tapped.at.ticks()),
                  frame_of(tapped.packet, ends_of(tapped), wire::LinkType::ethernet));
  });
  return diagnosis.finish();
}

/// Of a capture in tests/golden.
std::vector<Finding> diagnose_golden(const char* name) {
  auto bytes = wire::golden(name);
  auto reader = wire::CaptureReader::open(::fmemopen(bytes.data(), bytes.size(), "r"), name);
  EXPECT_TRUE(reader.ok());
  Diagnosis diagnosis;
  wire::CapturedFrame captured;
  for (auto more = reader->next(captured); more && *more; more = reader->next(captured)) {
    const auto frame = wire::read_frame(captured.link, captured.bytes, captured.original, true);
    if (frame) diagnosis.add(captured.number, captured.time_ns, *frame);
  }
  EXPECT_EQ(diagnosis.wrong_icrcs(), 0u);
  return diagnosis.finish();
}

TEST(diagnosis, of_real_endpoints_whose_request_was_lost_after_an_rnr_nak_finds_damming) {
  const auto findings = diagnose_golden("rxe_damming.pcap");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingClass::damming);
  EXPECT_EQ(findings[0].queue_pair, 17u);
  EXPECT_EQ(findings[0].first_packet, 5u);
  EXPECT_EQ(findings[0].last_packet, 6u);
  EXPECT_NEAR(static_cast<double>(findings[0].lost_ns), 568.3e6, 0.1e6);
}

TEST(diagnosis, of_real_endpoints_whose_later_request_drew_a_sequence_nak_finds_the_rescue) {
  const auto findings = diagnose_golden("rxe_rescued.pcap");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingClass::damming_rescued);
  EXPECT_NEAR(static_cast<double>(findings[0].lost_ns), 112.7e6, 0.1e6);
}

BenchmarkOptions two_reads(const char* device, PagedSide side, std::int64_t interval_us) {
  BenchmarkOptions o;
  o.profile = *net::rc::device_profile(device);
  o.paged = side;
  o.interval = Duration::microseconds(interval_us);
  return o;
}

TEST(diagnosis, of_the_modelled_benchmark_finds_damming_with_its_packets_and_the_time_lost) {
  for (const auto side : {PagedSide::server, PagedSide::client, PagedSide::both}) {
    const auto findings = diagnose(two_reads("connectx-4", side, 300));
    ASSERT_EQ(findings.size(), 1u) << to_text(side);
    EXPECT_EQ(findings[0].kind, FindingClass::damming);
    EXPECT_NEAR(static_cast<double>(findings[0].lost_ns), 0.502e9, 0.004e9);
    EXPECT_LT(findings[0].first_packet, findings[0].last_packet);
  }
}

TEST(diagnosis, of_the_modelled_benchmark_finds_damming_that_a_third_read_rescued) {
  BenchmarkOptions o = two_reads("connectx-4", PagedSide::both, 3'000);
  o.operations = 3;
  const auto findings = diagnose(o);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingClass::damming_rescued);
}

TEST(diagnosis, of_the_modelled_benchmark_finds_nothing_where_nothing_is_wrong) {
  for (const char* device : {"connectx-5", "connectx-6", "ideal"}) {
    for (const auto side :
         {PagedSide::none, PagedSide::server, PagedSide::client, PagedSide::both}) {
      for (const std::int64_t interval : {0, 300, 1'000, 6'000}) {
        EXPECT_TRUE(diagnose(two_reads(device, side, interval)).empty()) << device << interval;
      }
    }
  }
}

TEST(diagnosis, of_the_modelled_benchmark_finds_flood_on_many_queue_pairs) {
  BenchmarkOptions o = two_reads("connectx-6", PagedSide::client, 0);
  o.operations = o.queue_pairs = 128;
  o.size = 32;
  const auto findings = diagnose(o);
  EXPECT_GT(findings.size(), 20u);
  for (const Finding& f : findings) EXPECT_EQ(f.kind, FindingClass::flood);
}

TEST(diagnosis, finds_damming_of_requests_that_were_lost_many_waits_ago) {
  BenchmarkOptions o = two_reads("connectx-4", PagedSide::client, 0);
  o.operations = 512;
  o.queue_pairs = 128;
  o.size = 32;
  std::set<std::uint32_t> dammed;
  for (const Finding& f : diagnose(o)) {
    EXPECT_TRUE(f.kind == FindingClass::damming || f.kind == FindingClass::flood)
        << to_text(f.kind);
    if (f.kind == FindingClass::damming) dammed.insert(f.queue_pair);
  }
  EXPECT_EQ(dammed.size(), run_benchmark(o).dammed);
}

constexpr auto first = wire::Opcode::read_response_first;
constexpr auto middle = wire::Opcode::read_response_middle;
constexpr auto last = wire::Opcode::read_response_last;

TEST(diagnosis, of_a_read_asked_for_again_from_a_lost_packet_of_its_answer_finds_loss) {
  Packets p;
  p.read(0, 10, 4);
  p.response(3, 10, first);
  p.response(5, 12, middle);
  p.response(6, 13, last);
  p.read(68, 11, 3);
  p.response(72, 11, first);
  p.response(73, 12, middle);
  p.response(74, 13, last);
  EXPECT_EQ(told(p.finish()), "loss 1-5");
}

TEST(diagnosis, of_a_read_whose_answer_lost_its_first_packet_finds_loss) {
  for (const std::int64_t again : {20, 200, 2'000}) {
    Packets p;
    p.read(0, 10, 3);
    p.response(5, 11, middle);
    p.response(6, 12, last);
    p.read(again, 10, 3);
    p.response(again + 5, 10, first);
    p.response(again + 6, 11, middle);
    p.response(again + 7, 12, last);
    EXPECT_EQ(told(p.finish()), "loss 1-4") << again;
  }
}

TEST(diagnosis, of_reads_asked_for_again_at_once_as_only_the_later_was_answered_finds_loss) {
  Packets p;
  p.read(0, 10);
  p.read(1, 11);
  p.response(5, 11);
  p.read(8, 10);
  p.read(9, 11);
  p.response(12, 10);
  p.response(13, 11);
  EXPECT_EQ(told(p.finish()), "loss 1-4");
}

TEST(diagnosis, of_a_request_lost_while_an_answer_lacked_a_packet_finds_loss_and_no_damming) {
  Packets p;
  p.read(0, 10, 4);
  p.response(3, 10, first);
  p.response(5, 12, middle);
  p.response(6, 13, last);
  p.read(7, 14);
  p.read(80, 11, 3);
  p.response(90, 11, first);
  p.response(91, 12, middle);
  p.response(92, 13, last);
  p.read(500'000, 14);
  p.response(500'010, 14);
  EXPECT_EQ(told(p.finish()), "loss 1-6, loss 5-10");
}

TEST(diagnosis, of_a_queue_pair_set_up_again_with_the_same_psns_finds_nothing) {
  for (const bool reads : {false, true}) {
    Packets p;
    for (const std::int64_t begin : {0, 2'000'000}) {
      for (std::uint32_t psn = 0; psn < 6; ++psn) {
        const std::int64_t at = begin + 1'000 * psn;
        if (reads) {
          p.read(at, psn);
          p.response(at + 5, psn);
        } else {
          p.request(at, psn);
          p.acknowledge(at + 5, psn);
        }
      }
    }
    EXPECT_EQ(told(p.finish()), "") << reads;
  }
}

TEST(diagnosis, of_a_queue_pair_set_up_again_within_50_ms_for_the_same_reads_finds_nothing) {
  Packets p;
  for (const std::int64_t begin : {0, 50'000, 100'000}) {
    for (std::uint32_t psn = 0; psn < 3; ++psn) {
      p.read(begin + 100 * psn, psn);
      p.response(begin + 100 * psn + 5, psn);
    }
  }
  EXPECT_EQ(told(p.finish()), "");
}

TEST(diagnosis, of_a_flood_that_comes_back_after_tens_of_milliseconds_finds_it) {
  for (const std::int64_t gap : {8'000, 11'000, 20'000, 100'000}) {
    Packets p;
    for (std::int64_t round = 0; round < 20; ++round) {
      for (const std::uint32_t queue_pair : {100U, 200U, 300U, 400U}) {
        p.between(queue_pair);
        for (const std::uint32_t psn : {10U, 11U}) {
          p.read(round * gap + psn, psn);
          p.response(round * gap + psn + 5, psn);
        }
      }
    }
    const auto findings = p.finish();
    EXPECT_EQ(findings.size(), 4U) << gap;
    for (const Finding& f : findings) EXPECT_EQ(f.kind, FindingClass::flood) << gap;
  }
}

TEST(diagnosis, of_a_message_that_lost_packets_in_front_of_the_tap_finds_what_a_nak_asked_for) {
  constexpr std::uint32_t first_missing = 2;
  for (const std::uint32_t missing : {1U, 3U, 200U}) {
    Packets p;
    const std::uint32_t total = first_missing + missing + 4;
    for (std::uint32_t psn = 0; psn < total; ++psn) {
      if (psn < first_missing || psn >= first_missing + missing) p.request(psn, psn);
    }
    p.nak(300, first_missing);
    for (std::uint32_t psn = first_missing; psn < total; ++psn) p.request(310 + psn, psn);
    p.acknowledge(600, total - 1);
    const auto findings = p.finish();
    ASSERT_EQ(findings.size(), 1U) << missing;
    EXPECT_EQ(findings[0].kind, FindingClass::loss) << missing;
  }
}

TEST(diagnosis, of_a_capture_whose_clock_was_set_back_finds_damming_and_says_where) {
  for (std::uint64_t set_before = 2; set_before <= 5; ++set_before) {
    Packets p;
    p.set_clock(5'000'000);
    std::uint64_t packets = 0;
    const auto next = [&] {
      if (++packets == set_before) p.set_clock(-2'000'000);
    };
    next(), p.request(0, 1);
    next(), p.acknowledge(5, 1, wire::rnr_nak_syndrome(14));
    next(), p.request(1'000, 2);
    next(), p.request(4'500, 1);
    next(), p.acknowledge(4'505, 1);
    next(), p.request(504'600, 2);
    next(), p.acknowledge(504'605, 2);
    EXPECT_EQ(p.diagnosis().time_goes_back_at(), set_before);
    EXPECT_EQ(told(p.finish()), "damming 3-6") << set_before;
  }
}

TEST(diagnosis, of_packets_out_of_order_loses_no_negative_time) {
  Packets p;
  p.request(1'000, 1);
  p.request(990, 1);
  for (const Finding& f : p.finish()) EXPECT_GE(f.lost_ns, 0);
  EXPECT_EQ(p.diagnosis().time_goes_back_at(), 0U);
}

TEST(diagnosis, of_answers_lost_behind_the_tap_finds_loss_however_soon_the_read_goes_out_again) {
  for (const std::int64_t again : {20, 60, 400'000}) {
    Packets p;
    p.read(0, 10);
    p.read(1, 11);
    p.response(5, 10);
    p.response(6, 11);
    p.read(6 + again, 10);
    p.read(7 + again, 11);
    p.response(12 + again, 10);
    p.response(13 + again, 11);
    EXPECT_EQ(told(p.finish()), "loss 1-5") << again;
  }
}

TEST(diagnosis, of_an_answer_that_found_no_page_finds_nothing) {
  Packets p;
  for (const std::int64_t at : {0, 500, 1'000}) {
    p.read(at, 10);
    p.response(at + 5, 10);
  }
  EXPECT_EQ(told(p.finish()), "");
}

TEST(diagnosis, of_a_send_that_was_acknowledged_and_comes_again_finds_loss) {
  for (const std::int64_t again : {8'000, 500'000}) {
    Packets p;
    p.request(0, 10);
    p.acknowledge(5, 10);
    p.request(again, 10);
    p.acknowledge(again + 5, 10);
    EXPECT_EQ(told(p.finish()), "loss 1-3") << again;
  }
}

TEST(diagnosis, of_queue_pairs_that_begin_with_the_same_psn_pairs_them_by_what_is_answered) {
  Packets p;
  // The answers come in another order than the requests. A wrong pair would see none of its own.
  p.between(100);
  p.read(0, 0, 2);
  p.between(200);
  p.read(1, 0);
  p.response(10, 0);
  p.between(300);
  p.request(11, 0);
  p.acknowledge(12, 0);
  p.between(100);
  p.response(300, 0, first);
  p.response(301, 1, last);
  for (const std::int64_t at : {500, 1'000}) {
    p.between(200);
    p.read(at, 0);
    p.response(at + 10, 0);
  }
  EXPECT_EQ(told(p.finish()), "");
}

TEST(diagnosis, of_a_queue_pair_set_up_again_for_other_memory_at_once_finds_nothing) {
  Packets p;
  for (const std::uint32_t packets : {1U, 2U}) {
    const std::int64_t begin = 15'000 * packets;
    p.read(begin, 0, packets);
    p.response(begin + 5, 0, packets == 1 ? wire::Opcode::read_response_only : first);
    if (packets == 2) p.response(begin + 6, 1, last);
  }
  EXPECT_EQ(told(p.finish()), "");
}

TEST(diagnosis, of_a_queue_pair_set_up_again_behind_its_first_psn_finds_nothing) {
  Packets p;
  for (const std::uint32_t from : {1'000U, 900U}) {
    for (std::uint32_t i = 0; i < 600; ++i) {
      const std::int64_t at = (from == 900 ? 2'000'000 : 0) + 1'000 * i;
      p.request(at, from + i);
      p.acknowledge(at + 5, from + i);
    }
  }
  EXPECT_EQ(told(p.finish()), "");
}

TEST(diagnosis, of_a_queue_pair_set_up_again_goes_on_to_find_what_is_lost) {
  Packets p;
  for (const std::int64_t begin : {0, 2'000'000}) {
    for (std::uint32_t psn = 0; psn < 3; ++psn) {
      p.request(begin + 1'000 * psn, psn);
      p.acknowledge(begin + 1'000 * psn + 5, psn);
    }
  }
  p.request(2'010'000, 3);
  p.request(2'510'000, 3);
  p.acknowledge(2'510'005, 3);
  EXPECT_EQ(told(p.finish()), "loss 13-14");
}

TEST(diagnosis, of_a_request_sent_first_behind_a_wait_and_lost_finds_loss) {
  Packets p;
  p.request(0, 1);
  p.acknowledge(5, 1, wire::rnr_nak_syndrome(14));
  p.request(4'500, 1);
  p.request(4'501, 2);
  p.acknowledge(4'510, 1);
  p.request(504'500, 2);
  p.acknowledge(504'600, 2);
  EXPECT_EQ(told(p.finish()), "loss 4-6");
}

TEST(diagnosis, of_a_packet_lost_among_those_sent_again_behind_a_wait_finds_loss) {
  Packets p;
  for (const std::int64_t at : {0, 4'500}) {
    for (std::uint32_t psn = 1; psn < 5; ++psn) p.request(at + psn, psn);
    if (at == 0) p.acknowledge(5, 1, wire::rnr_nak_syndrome(14));
  }
  p.nak(4'508, 2);  // drawn by 3 or 4
  for (std::uint32_t psn = 2; psn < 5; ++psn) p.request(4'508 + psn, psn);
  p.acknowledge(4'520, 4);
  EXPECT_EQ(told(p.finish()), "loss 7-11");
}

TEST(diagnosis, of_floods_side_by_side_on_a_queue_pair_counts_the_time_once_and_no_damming) {
  Packets p;
  for (std::int64_t at = 0; at < 3'000'000; at += 5'000) {
    const bool is_first = at % 10'000 == 0;
    if (is_first ? at >= 2'000'000 : at < 1'000'000) continue;
    for (const std::uint32_t queue_pair : {100U, 200U}) {
      p.between(queue_pair);
      p.read(at + queue_pair, is_first ? 10 : 11);
      p.response(at + queue_pair + 5, is_first ? 10 : 11);
    }
  }
  const auto findings = p.finish();
  ASSERT_EQ(findings.size(), 2u) << told(findings);
  for (const Finding& f : findings) {
    EXPECT_EQ(f.kind, FindingClass::flood);
    EXPECT_EQ(f.lost_ns, 2'995'000'000);
  }
}

TEST(diagnosis, of_a_message_of_thousands_of_packets_names_the_lost_one) {
  for (const bool by_nak : {false, true}) {
    Packets p;
    const std::uint32_t lost = by_nak ? 300 : 0;
    for (std::uint32_t psn = 0; psn < 2'000; ++psn) p.request(psn, psn);
    if (by_nak) p.nak(2'005, lost);
    const std::int64_t again = by_nak ? 2'100 : 500'000;
    for (std::uint32_t psn = lost; psn < 2'000; ++psn) p.request(again + psn, psn);
    p.acknowledge(again + 3'000, 1'999);
    EXPECT_EQ(told(p.finish()), by_nak ? "loss 301-2002" : "loss 1-2001");
  }
}

TEST(diagnosis, of_a_request_that_is_lost_again_at_each_timeout_is_one_damming) {
  Packets p;
  p.request(0, 1);
  p.acknowledge(5, 1, wire::rnr_nak_syndrome(14));
  p.request(1'000, 2);
  p.request(4'500, 1);
  p.acknowledge(4'505, 1);
  for (std::int64_t at = 501'000; at < 1'600'000; at += 500'000) p.request(at, 2);
  p.acknowledge(1'501'005, 2);
  const auto findings = p.finish();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingClass::damming);
  EXPECT_EQ(findings[0].lost_ns, 1'500'000'000);
  EXPECT_EQ(findings[0].first_packet, 3u);
  EXPECT_EQ(findings[0].last_packet, 8u);
}

TEST(diagnosis, of_a_request_that_is_lost_when_it_goes_out_again_behind_a_wait_finds_damming) {
  Packets p;
  for (const std::int64_t at : {0, 4'500}) {
    p.request(at, 1);
    p.request(at + 1, 2);
    if (at == 0) p.acknowledge(5, 1, wire::rnr_nak_syndrome(14));
  }
  p.acknowledge(4'505, 1);
  p.request(504'500, 2);
  p.acknowledge(504'505, 2);
  const auto findings = p.finish();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingClass::damming);
}

TEST(diagnosis, of_packets_that_the_capture_has_twice_finds_nothing) {
  Packets p;
  for (std::uint32_t psn = 1; psn < 20; ++psn) {
    const std::int64_t at = 1'000 * psn;
    for (const std::int64_t copy : {0, 1}) p.request(at + copy, psn);
    if (psn == 10) {
      for (const std::int64_t copy : {0, 1}) p.acknowledge(at + 5 + copy, psn, 0x21);
      for (const std::int64_t copy : {0, 1}) p.request(at + 40 + copy, psn);
    }
    for (const std::int64_t copy : {0, 1}) p.acknowledge(at + 50 + copy, psn);
  }
  EXPECT_TRUE(p.finish().empty());
}

TEST(diagnosis, of_the_longest_rnr_timer_says_so_even_if_the_capture_ends_in_its_wait) {
  Packets p;
  p.request(0, 1);
  p.acknowledge(5, 1, wire::rnr_nak_syndrome(0));
  const auto findings = p.finish();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingClass::rnr_misconfigured);
}

TEST(diagnosis, of_the_longest_rnr_timer_says_so) {
  BenchmarkOptions o = two_reads("connectx-6", PagedSide::server, 0);
  o.rnr_timer = 0;
  const auto findings = diagnose(o);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, FindingClass::rnr_misconfigured);
}

/// A request that is lost in a wait, and its second try half a second later.
void lose_in_a_wait(Packets& p, std::int64_t begin) {
  p.request(begin, 1);
  p.acknowledge(begin + 5, 1, wire::rnr_nak_syndrome(14));
  p.request(begin + 1'000, 2);
  p.request(begin + 4'500, 1);
  p.acknowledge(begin + 4'505, 1);
}

void come_and_go(Packets& p, std::uint32_t from, std::uint32_t to, std::int64_t begin) {
  for (std::uint32_t queue_pair = from; queue_pair < to; queue_pair += 2) {
    p.between(queue_pair);
    p.request(begin + queue_pair, 5);
    p.acknowledge(begin + queue_pair + 1, 5);
  }
}

TEST(diagnosis, of_more_queue_pairs_than_it_keeps_forgets_those_that_wait_for_nothing_first) {
  Packets p(64);
  p.between(1);
  lose_in_a_wait(p, 0);
  come_and_go(p, 100, 5'000, 5'000);
  p.between(1);
  p.request(501'000, 2);
  p.acknowledge(501'005, 2);
  EXPECT_GT(p.diagnosis().forgotten(), 2'000u);
  EXPECT_EQ(p.diagnosis().forgotten_open(), 0u);
  EXPECT_EQ(p.diagnosis().queue_pairs(), 2'451u);
  EXPECT_EQ(told(p.finish()), "damming 3-4906");
}

TEST(diagnosis, of_more_queue_pairs_than_it_keeps_says_what_it_forgot_and_keeps_its_findings) {
  Packets p(64);
  p.between(1);
  lose_in_a_wait(p, 0);
  p.request(501'000, 2);
  for (std::uint32_t queue_pair = 100; queue_pair < 1'000; ++queue_pair) {
    p.between(queue_pair);
    p.request(600'000 + queue_pair, 5);
  }
  EXPECT_GT(p.diagnosis().forgotten(), 800u);
  EXPECT_GT(p.diagnosis().forgotten_open(), 800u);
  EXPECT_EQ(told(p.finish()), "damming 3-6");
}

TEST(diagnosis, of_tens_of_thousands_of_queue_pairs_side_by_side_forgets_none) {
  Packets p;
  for (const std::int64_t at : {0, 500'000}) {
    for (std::uint32_t queue_pair = 0; queue_pair < 40'000; ++queue_pair) {
      p.between(2 * queue_pair);
      p.request(at + queue_pair, queue_pair);
    }
  }
  EXPECT_EQ(p.diagnosis().forgotten(), 0u);
  EXPECT_EQ(p.finish().size(), 40'000u);
}

TEST(diagnosis, of_thousands_of_queue_pairs_that_begin_at_once_pairs_each_with_its_answers) {
  Packets p;
  constexpr std::uint32_t queue_pairs = 10'000;
  // The answer is of no use: the same READ goes out again soon, which is a loss if nobody knows
  // that it was answered.
  for (const std::int64_t at : {0, 4'000, 8'000}) {
    for (std::uint32_t i = 0; i < queue_pairs; ++i) {
      p.between(2 * i);
      p.read(at + i / 10, i * 7 % 10'007);
    }
    for (std::uint32_t i = 0; i < queue_pairs; ++i) {
      p.between(2 * i);
      p.response(at + 1'200 + i / 10, i * 7 % 10'007);
    }
  }
  EXPECT_EQ(p.finish().size(), 0u);
}

TEST(diagnosis, of_a_rescue_says_whether_it_cost_anything) {
  for (const std::int64_t later : {5'000, 300'000}) {
    Packets p;
    lose_in_a_wait(p, 0);
    p.request(later, 3);
    p.nak(later + 5, 2);
    p.request(later + 10, 2);
    p.request(later + 11, 3);
    p.acknowledge(later + 20, 3);
    const auto findings = p.finish();
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].kind, FindingClass::damming_rescued);
    EXPECT_EQ(findings[0].is_harmless(), later == 5'000);
  }
}

TEST(diagnosis, of_random_packets_ends_with_bounded_findings) {
  Rng rng(7);
  Diagnosis diagnosis;
  for (std::uint64_t i = 1; i <= 30'000; ++i) {
    wire::RdmaFrame frame;
    frame.source = wire::NodeAddress::ipv4(static_cast<std::uint32_t>(rng.below(4)));
    frame.destination = wire::NodeAddress::ipv4(static_cast<std::uint32_t>(rng.below(4)));
    frame.packet.bth.opcode = static_cast<wire::Opcode>(rng.below(32));
    frame.packet.bth.queue_pair =
        static_cast<std::uint32_t>(rng.below(rng.below(2) == 0 ? 8 : 1 << 24));
    frame.packet.bth.psn = static_cast<std::uint32_t>(rng.below(rng.below(2) == 0 ? 16 : 1 << 24));
    frame.packet.aeth = wire::Aeth{static_cast<std::uint8_t>(rng.below(256)), 0};
    diagnosis.add(i, rng.next(), frame);
  }
  EXPECT_LE(diagnosis.finish().size(), 65'536u);
}

}  // namespace
}  // namespace weft::rdma
