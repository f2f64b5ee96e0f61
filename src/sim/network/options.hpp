// SPDX-License-Identifier: Apache-2.0
// The properties of the simulated network's links, switches and hosts. Every time and rate is of
// one direction of one link.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/topology/topology.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/time.hpp"

namespace weft::sim {

/// Links of one kind (CableKind).
struct LinkOptions {
  Bandwidth rate = Bandwidth::bits_per_second(100'000'000'000);
  PicoDuration latency =
      PicoDuration::nanoseconds(10);  ///< of the cable; for data and credits; > 0
};

/// One service level: virtual lanes on every link, one per channel class of the router.
struct LevelOptions {
  /// Levels of a higher priority always go first.
  std::uint8_t priority = 0;
  /// Share among levels of equal priority, 1 … 255, in units of a full packet.
  std::uint8_t weight = 1;
};

struct NetworkOptions {
  LinkOptions host_link;
  LinkOptions local_link;
  LinkOptions global_link;

  std::uint32_t mtu = 4096;           ///< payload bytes of a packet at most
  std::uint32_t packet_overhead = 0;  ///< header bytes that each packet has on links and in buffers
  /// The buffer of each input port and channel class that one level may fill when no other level
  /// uses it; at least one packet. The levels share it, and every level but one has a reserve
  /// besides.
  std::uint32_t buffer_bytes = 65536;
  /// The part of the buffer reserved for each level; at least one packet. 0: two packets, or all of
  /// the buffer if that is less.
  std::uint32_t reserve_bytes = 0;
  PicoDuration switch_delay = PicoDuration::nanoseconds(100);
  /// A packet may leave a switch before all of it has come in.
  bool cut_through = true;

  /// Packets that wait for an output and lane go in the order of their arrival, as in switches with
  /// one queue per output; otherwise the inputs take turns.
  bool output_queues = false;

  std::vector<LevelOptions> levels = {LevelOptions{}};  ///< 1 … 16

  PicoDuration host_overhead{};  ///< LogGP o: of a host's processor, per message, on either side
  PicoDuration injection_gap{};  ///< LogGP g: between the starts of two messages at a host
  /// When a host sends a lost packet again, counted from when it would have arrived.
  PicoDuration retransmit_after = PicoDuration::microseconds(100);
  /// Messages of one level to so many different hosts are on their way out of a host at once,
  /// packet by packet in turn; the others wait. Messages of one packet do not wait for other hosts'
  /// ones.
  std::uint32_t interleaved_messages = 16;
  /// How probably a turn of a message is followed by another one at once, 0 … 0.9, after each turn
  /// anew, hence 1/(1 − p) turns in a row on average: connections whose packets are let go by
  /// acknowledgements do not share a link exactly.
  double second_turn_probability = 0;

  const LinkOptions& link(CableKind kind) const {
    if (kind == CableKind::host) return host_link;
    return kind == CableKind::global ? global_link : local_link;
  }
};

/// "aries", "ib-qdr", "ib-fdr", "ib-edr", "ib-hdr", "10gbe", "100gbe"; docs/simulator.md has the
/// numbers and where they come from. Errors: unknown name, with those that there are.
Result<NetworkOptions> network_preset(std::string_view name);
std::vector<std::string_view> network_presets();

/// The reserve of each level behind every link, by class: `reserve_bytes` or its default.
std::uint32_t level_reserve(const NetworkOptions& options);

/// Checks ranges. Errors name the field, its value and its range.
Result<void> check_network(const NetworkOptions& options);

}  // namespace weft::sim
