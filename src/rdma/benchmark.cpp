// SPDX-License-Identifier: Apache-2.0
#include "rdma/benchmark.hpp"

#include <algorithm>

#include "base/make_error.hpp"
#include "rdma/client.hpp"

namespace weft::rdma {
namespace {

using net::rc::page_bytes;
using net::rc::Verb;
using net::rc::WorkRequest;

// Buffers begin at a page; the two hosts' addresses differ, as they would.
constexpr std::uint64_t local_buffer = 0x10'0000'0000;
constexpr std::uint64_t remote_buffer = 0x20'0000'0000;
constexpr std::uint8_t shortest_rnr_timer = 1;

TwoHostsOptions hosts_of(const BenchmarkOptions& o) {
  const bool client = o.paged == PagedSide::client || o.paged == PagedSide::both;
  const bool server = o.paged == PagedSide::server || o.paged == PagedSide::both;
  TwoHostsOptions hosts;
  hosts.profile = o.profile;
  hosts.queue_pairs = o.queue_pairs + 1;
  hosts.seed = o.seed;
  for (auto& adapter : hosts.adapters) {
    adapter.ack_timeout = o.ack_timeout;
    adapter.retry_count = o.retry_count;
    adapter.rnr_timer = o.avoidance.smallest_rnr_delay ? shortest_rnr_timer : o.rnr_timer;
  }
  hosts.adapters[0].paged = client;
  hosts.adapters[1].paged = server;
  return hosts;
}

void prefetch(const BenchmarkOptions& o, TwoHosts& hosts) {
  const std::uint64_t bytes = std::uint64_t{o.size} * o.operations;
  for (std::uint64_t at = 0; at < bytes + page_bytes; at += page_bytes) {
    hosts.host(0).pages().prefetch((local_buffer + at) / page_bytes);
    hosts.host(1).pages().prefetch((remote_buffer + at) / page_bytes);
  }
}

BenchmarkResult collect(TwoHosts& hosts, BenchmarkResult result) {
  const auto& client = hosts.host(0).counters();
  const auto& server = hosts.host(1).counters();
  result.timeouts = client.timeouts;
  result.dammed = client.dammed;
  result.flooded = client.flooded;
  result.rnr_naks = server.rnr_naks;
  result.sequence_naks = server.sequence_naks;
  result.retransmissions = client.retransmissions;
  result.packets = hosts.packets();
  result.page_faults = hosts.host(0).pages().faults() + hosts.host(1).pages().faults();
  return result;
}

}  // namespace

Result<PagedSide> parse_paged_side(std::string_view text) {
  for (const PagedSide side :
       {PagedSide::none, PagedSide::client, PagedSide::server, PagedSide::both}) {
    if (text == to_text(side)) return side;
  }
  return invalid("'{}' is no side: use none, client, server or both", text);
}

std::string_view to_text(PagedSide side) {
  constexpr std::string_view names[] = {"none", "client", "server", "both"};
  return names[static_cast<std::size_t>(side)];
}

BenchmarkResult run_benchmark(const BenchmarkOptions& o,
                              const std::function<void(const TappedPacket&)>& tap) {
  TwoHosts hosts(hosts_of(o));
  hosts.tap = tap;
  const bool is_paged = o.paged == PagedSide::client || o.paged == PagedSide::both;
  Client client(hosts, o.avoidance, is_paged, o.queue_pairs, o.queue_pairs);
  BenchmarkResult result;
  result.completed_at.resize(o.operations);
  std::uint32_t completed = 0;
  client.completed = [&](Instant now, std::uint64_t id, bool good) {
    result.completed_at[id] = now - Instant();
    result.execution = std::max(result.execution, now - Instant());
    if (!good) ++result.failed;
    ++completed;
  };
  if (o.avoidance.prefetch) prefetch(o, hosts);

  std::uint32_t posted = 0;
  Rng jitter = Rng(o.seed).split(0x717'7e4);
  std::function<void()> post_next = [&] {
    const std::uint64_t offset = std::uint64_t{o.size} * posted;
    const WorkRequest request{.id = posted,
                              .verb = posted == 0 ? Verb::read : o.second_verb,
                              .local = local_buffer + offset,
                              .remote = remote_buffer + offset,
                              .bytes = o.size};
    client.post(posted % o.queue_pairs, request);
    if (++posted == o.operations) return;
    const double more = o.jitter > Duration() ? jitter.exponential(o.jitter.to_seconds()) : 0;
    hosts.at(hosts.now() + o.interval + o.post_cost + Duration::from_seconds(more), post_next);
  };
  hosts.at(Instant(), post_next);
  // Longer than eight timeouts of the longest kind take.
  constexpr auto patience = Duration::seconds(1'000'000);
  hosts.run(Instant::never(), [&] { return posted == o.operations; });
  hosts.run(hosts.now() + patience, [&] { return completed == o.operations; });
  // Requests still under way, such as those issued again elsewhere, cost packets too.
  hosts.run(hosts.now() + Duration::seconds(60), [] { return false; });
  result.stuck = o.operations - completed;
  return collect(hosts, std::move(result));
}

}  // namespace weft::rdma
