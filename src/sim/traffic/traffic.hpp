// SPDX-License-Identifier: Apache-2.0
// Synthetic traffic: hosts send messages of one size to destinations that a pattern chooses, at
// random times, so that each sender offers a chosen share of its link's rate.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/rng.hpp"
#include "sim/engine/agent.hpp"
#include "sim/network/network.hpp"
#include "sim/telemetry/latency_histogram.hpp"
#include "weft/result.hpp"

namespace weft::sim {

enum class TrafficPattern : std::uint8_t {
  uniform,      ///< every other host with equal probability
  permutation,  ///< one destination per host for ever, no two hosts the same
  incast,       ///< all to the first host of the list
  bursts,       ///< many to one: now and then all send one message to a host chosen at random
};
Result<TrafficPattern> parse_pattern(std::string_view name);
std::string_view to_text(TrafficPattern pattern);

struct TrafficOptions {
  TrafficPattern pattern = TrafficPattern::uniform;
  double load = 0.5;  ///< of the host link's rate, headers included; above 0
  std::uint64_t message_bytes = 4096;
  std::uint8_t level = 0;
  PicoInstant start{};
  PicoInstant end = PicoInstant::never();  ///< nothing is sent from then on
  std::uint64_t seed = 1;
};

/// The same load in equal parts, each on a service level of its own, from 0 on; at least one level.
std::vector<TrafficOptions> one_per_level(const TrafficOptions& all, std::size_t levels);

/// One kind of traffic among some hosts; in a part of a divided network, that of its own hosts.
/// Network and agents outlive it.
class Traffic final : public Agent, public NetworkUser {
 public:
  /// Errors: fewer than two hosts, a load or size out of range.
  static Result<void> check(const TrafficOptions& options, std::size_t hosts);
  /// Sends from its start on. Options must pass `check`.
  Traffic(const TrafficOptions& options, std::vector<std::uint32_t> hosts, Network& network,
          Agents& agents);

  void on_timer(std::uint16_t detail, std::uint64_t payload) override;
  void fetch(std::uint64_t payload, Ahead ahead) const override;
  void on_sent(const Message&, PicoInstant) override {}
  void on_arrived(const Message& message) override;

  /// Sends nothing from now on.
  void stop() { options_.end = agents_.engine().now(); }

  std::uint64_t sent() const { return sent_; }
  std::uint64_t delivered() const { return latencies_.count; }
  std::uint64_t delivered_bytes() const { return delivered_bytes_; }
  /// The same without what arrived after the end of sending.
  std::uint64_t bytes_delivered_before_end() const { return bytes_before_end_; }
  /// From messages' posting to their arrival.
  const LatencyHistogram& latencies() const { return latencies_; }

 private:
  /// A host here that sends: its place among all hosts, and among those here. A timer's payload.
  struct Sender {
    std::uint32_t index = 0;
    std::uint32_t own = 0;

    static Sender of(std::uint64_t payload) {
      return {static_cast<std::uint32_t>(payload), static_cast<std::uint32_t>(payload >> 32)};
    }
    std::uint64_t payload() const { return std::uint64_t{own} << 32 | index; }
  };
  void send_from(Sender sender);
  std::uint32_t destination_of(Sender sender);
  void set_next(Sender sender);

  TrafficOptions options_;
  std::vector<std::uint32_t> hosts_;
  std::vector<std::uint32_t> partner_;  // permutation
  std::vector<Rng> rngs_;               // by sender here
  Network& network_;
  Agents& agents_;
  std::uint32_t agent_;
  std::uint16_t user_;
  double mean_interval_ps_;
  std::uint64_t sent_ = 0;
  std::uint64_t delivered_bytes_ = 0;
  std::uint64_t bytes_before_end_ = 0;
  LatencyHistogram latencies_;
};

}  // namespace weft::sim
