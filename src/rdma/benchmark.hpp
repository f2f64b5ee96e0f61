// SPDX-License-Identifier: Apache-2.0
// The micro-benchmark of paper 2 (Fig. 3) on two modelled adapters: READs of one size, posted at
// intervals, round robin over queue pairs, to and from buffers that lie one behind the other.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "rdma/avoidance.hpp"
#include "rdma/two_hosts.hpp"
#include "weft/result.hpp"

namespace weft::rdma {

enum class PagedSide : std::uint8_t { none, client, server, both };
Result<PagedSide> parse_paged_side(std::string_view text);
std::string_view to_text(PagedSide side);

struct BenchmarkOptions {
  net::rc::DeviceProfile profile;
  PagedSide paged = PagedSide::both;
  std::uint32_t size = 100;
  std::uint32_t operations = 2;
  std::uint32_t queue_pairs = 1;
  Duration interval;
  Duration jitter;  ///< mean of the time that lengthens each interval, exponential
  /// The processor's time for a post. Assumption: 0.4 us.
  Duration post_cost = Duration::nanoseconds(400);
  std::uint8_t rnr_timer = 14;   ///< code of the minimal RNR NAK delay
  std::uint8_t ack_timeout = 1;  ///< code of the local ACK timeout
  std::uint8_t retry_count = 7;
  net::rc::Verb second_verb = net::rc::Verb::read;  ///< of all operations but the first
  Avoidance avoidance;
  std::uint64_t seed = 1;
};

struct BenchmarkResult {
  Duration execution;
  std::uint64_t timeouts = 0;
  std::uint64_t rnr_naks = 0;
  std::uint64_t sequence_naks = 0;
  std::uint64_t packets = 0;
  std::uint64_t retransmissions = 0;
  std::uint64_t page_faults = 0;
  std::uint64_t failed = 0;   ///< operations whose retries were exceeded
  std::uint64_t stuck = 0;    ///< operations that never complete: lost, and no timeout is set
  std::uint64_t dammed = 0;   ///< timeouts of requests that were lost while a queue pair waited
  std::uint64_t flooded = 0;  ///< requests that went out again and again though each was answered
  bool damming() const { return dammed + stuck > 0; }
  /// More than one request in a hundred. A few are told that late by chance where nothing floods.
  bool flood() const { return flooded * 100 > completed_at.size(); }
  std::vector<Duration> completed_at;  ///< of each operation
};

/// The longest time of all intervals together, with the mean of their jitter.
constexpr Duration longest_posting = Duration::seconds(250'000);

BenchmarkResult run_benchmark(const BenchmarkOptions& options,
                              const std::function<void(const TappedPacket&)>& tap = {});

}  // namespace weft::rdma
