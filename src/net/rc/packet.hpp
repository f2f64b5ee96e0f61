// SPDX-License-Identifier: Apache-2.0
// Packets between the queue pairs of reliable connections, and the work requests of their users.
#pragma once

#include <cstdint>
#include <vector>

#include "wire/capture/infiniband.hpp"

namespace weft::net::rc {

constexpr std::uint32_t page_bytes = 4096;
constexpr std::uint32_t mtu_bytes = 4096;

struct Packet {
  wire::Opcode opcode = wire::Opcode::send_only;
  std::uint8_t syndrome = 0;  ///< in ACK, NAK and READ response
  /// In ACK, NAK and READ response: how many messages the responder has carried out, modulo 2^24.
  std::uint32_t message_number = 0;
  bool wants_ack = false;
  std::uint32_t queue_pair = 0;  ///< the connection's number, the same at both ends
  std::uint32_t psn = 0;
  std::uint32_t length = 0;   ///< bytes that a READ still asks for, or all bytes of a WRITE or SEND
  std::uint32_t payload = 0;  ///< bytes of data in this packet
  std::uint64_t address = 0;  ///< in requests: of the remote memory
  /// The packet left the send queue and a tap at the port sees it, but the adapter loses it.
  bool lost_at_port = false;
};

/// Returns the packet's bytes on the wire: InfiniBand's local route header (8), BTH (12), ICRC and
/// VCRC (6), RETH (16) and AETH (4) if the opcode has them, and the payload padded to 4 bytes.
constexpr std::uint32_t wire_bytes(const Packet& p) {
  return 26 + (wire::has_reth(p.opcode) ? 16 : 0) + (wire::has_aeth(p.opcode) ? 4 : 0) +
         (p.payload + 3) / 4 * 4;
}

enum class Verb : std::uint8_t { read, write, send };

struct WorkRequest {
  std::uint64_t id = 0;
  Verb verb = Verb::read;
  std::uint64_t local = 0;   ///< address in this host's memory
  std::uint64_t remote = 0;  ///< address in the other host's memory; unused by a SEND
  std::uint32_t bytes = 0;   ///< at least 1, or 0 for a WRITE that touches no memory at either end
  bool pinned = false;       ///< the local memory is pinned, even if the adapter's is paged
};

struct Completion {
  std::uint64_t id = 0;
  std::uint32_t queue_pair = 0;
  bool good = true;  ///< false: the retries are exhausted, and the queue pair no longer works
};

/// The packets and completions that an adapter hands to its driver, which owns and clears them.
struct Outbox {
  std::vector<Packet> packets;
  std::vector<Completion> completions;
  /// Queue pairs on which a SEND or WRITE has arrived whole: one entry for each message, in order.
  /// The message's ACK is among `packets`.
  std::vector<std::uint32_t> received;
};

}  // namespace weft::net::rc
