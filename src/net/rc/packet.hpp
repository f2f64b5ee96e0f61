// SPDX-License-Identifier: Apache-2.0
// Packets between queue pairs of a reliable connection, and work requests of their users.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/time.hpp"
#include "wire/capture/infiniband.hpp"

namespace weft::net::rc {

constexpr std::uint32_t page_bytes = 4096;
constexpr std::uint32_t mtu_bytes = 4096;

struct Packet {
  wire::Opcode opcode = wire::Opcode::send_only;
  std::uint8_t syndrome = 0;  ///< of ACK, NAK and READ response
  /// In these: how many messages the responder has carried out, modulo 2^24.
  std::uint32_t message_number = 0;
  bool wants_ack = false;
  std::uint32_t queue_pair = 0;  ///< the connection's number, the same at both ends
  std::uint32_t psn = 0;
  std::uint32_t length = 0;   ///< bytes that a READ asks for
  std::uint32_t payload = 0;  ///< bytes of data carried
  std::uint64_t address = 0;  ///< remote memory, in requests
  /// Left the send queue and was seen at the port, but never went out.
  bool lost_at_port = false;
};

/// Bytes on the wire: InfiniBand's headers of local routing (8), BTH (12), ICRC and VCRC (6), those
/// that the opcode has, and the payload padded to 4.
constexpr std::uint32_t wire_bytes(const Packet& p) {
  return 26 + (wire::has_reth(p.opcode) ? 16 : 0) + (wire::has_aeth(p.opcode) ? 4 : 0) +
         (p.payload + 3) / 4 * 4;
}

enum class Verb : std::uint8_t { read, write, send };

struct WorkRequest {
  std::uint64_t id = 0;
  Verb verb = Verb::read;
  std::uint64_t local = 0;   ///< address in this host's memory
  std::uint64_t remote = 0;  ///< address in the other one's; none for send
  std::uint32_t bytes = 0;   ///< at least 1; of a WRITE 0: it touches no memory at either end
  bool pinned = false;       ///< its local memory is, whatever the adapter's is
};

struct Completion {
  std::uint64_t id = 0;
  std::uint32_t queue_pair = 0;
  bool good = true;  ///< false: retries are exceeded, and the queue pair is of no use any more
};

/// The packets and completions that an adapter hands over. The driver owns and clears it.
struct Outbox {
  std::vector<Packet> packets;
  std::vector<Completion> completions;
  /// Queue pairs on which a SEND or WRITE has arrived whole, once for each, in order. Its ACK is
  /// among `packets`.
  std::vector<std::uint32_t> received;
};

}  // namespace weft::net::rc
