// SPDX-License-Identifier: Apache-2.0
// The micro-benchmark of paper 2 (Fig. 3) on real adapters, by verbs: READs of one size over
// reliable connections, posted at intervals, round robin over queue pairs, between two processes;
// and the measurement of timeouts (Fig. 2). Nothing here needs the headers of libibverbs. Where
// weft was built without them every call fails, `io`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "rdma/benchmark.hpp"
#include "rdma/live_counters.hpp"
#include "rdma/verbs/control.hpp"
#include "rdma/verbs/hello.hpp"

namespace weft::rdma {

struct DeviceChoice {
  std::string name;          ///< "mlx5_0"; empty: the first with an active port
  std::uint8_t port = 1;     ///< from 1
  int gid_index = -1;        ///< -1: of RoCE v2 and IPv4 if there is one
  std::string sys = "/sys";  ///< where its counters are
};

struct BenchOptions {
  DeviceChoice device;
  PagedSide paged = PagedSide::both;
  bool prefetch = false;  ///< of paged memory
  std::uint32_t size = 100;
  std::uint32_t operations = 2;
  std::uint32_t queue_pairs = 1;
  Duration interval;              ///< between a post and the next
  std::uint8_t rnr_timer = 14;    ///< code of the server's minimal RNR NAK delay
  std::uint8_t ack_timeout = 14;  ///< code of the local ACK timeout
  std::uint8_t retry_count = 7;
};

struct BenchOutcome {
  std::string device;
  fabric::MemoryMode client_memory = fabric::MemoryMode::pinned;
  fabric::MemoryMode server_memory = fabric::MemoryMode::pinned;
  Duration execution;        ///< from the first post to the last completion
  std::uint64_t failed = 0;  ///< operations that did not complete well
  std::string failure;       ///< of the first of them, as verbs calls it
  /// The counters of the client's device during the benchmark, other traffic included; none where
  /// its driver shows none.
  std::optional<DeviceCounters> counters;
  std::optional<std::uint64_t> packets;  ///< sent and received by the client's port
  std::vector<Duration> completed_at;    ///< of each operation, since the first post
};

Result<BenchOutcome> run_bench(const BenchOptions& options, const HostPort& server,
                               const StopCheck& stop);

struct TimeoutPoint {
  std::uint8_t ack_timeout = 0;  ///< code C
  Duration nominal;              ///< 4.096 us * 2^C
  Duration total;                ///< until the adapter gave up
  Duration timeout;              ///< total by the tries: T_o as the paper measures it
};

/// The longest that a READ without an answer may take to fail. A try takes at most four times
/// 4.096 us * 2^C; adapters were measured that take any C below 16 as 16.
constexpr Duration longest_until_failure(std::uint8_t ack_timeout, std::uint8_t retries) {
  constexpr std::uint8_t floor = 16;
  const std::uint8_t code = ack_timeout > floor ? ack_timeout : floor;
  return Duration::nanoseconds(std::int64_t{4 * 4'096} << code) * (retries + 1);
}

/// For each code, one READ to a queue pair that answers nothing. `measured` is called after each.
/// `unavailable` when a READ does not fail within `longest_until_failure`: software RoCE takes 7
/// retries as retries without end.
Result<void> measure_timeouts(const BenchOptions& options, const HostPort& server,
                              const std::vector<std::uint8_t>& codes, const StopCheck& stop,
                              const std::function<void(const TimeoutPoint&)>& measured);

struct ServeOptions {
  DeviceChoice device;
  HostPort place;
  bool once = false;  ///< ends after the first client that it welcomed
};

/// The server's lines about itself.
struct ServerNews {
  std::function<void(std::uint16_t port, const std::string& device)> listens;
  std::function<void(const std::string& line)> client;
};

/// Serves clients one after the other until `stop`, which ends it well. A client's error ends that
/// client only.
Result<void> serve_bench(const ServeOptions& options, const StopCheck& stop,
                         const ServerNews& news);

}  // namespace weft::rdma
