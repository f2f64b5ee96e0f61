// SPDX-License-Identifier: Apache-2.0
// The headers of InfiniBand's transport layer, as they travel in InfiniBand and in RoCEv2 packets:
// BTH, RETH, AETH, AtomicETH, and the invariant CRC behind them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace weft::wire {

/// Opcodes of a reliable connection (BTH byte 0). Others may occur in a capture.
enum class Opcode : std::uint8_t {
  send_first = 0x00,
  send_middle = 0x01,
  send_last = 0x02,
  send_last_immediate = 0x03,
  send_only = 0x04,
  send_only_immediate = 0x05,
  write_first = 0x06,
  write_middle = 0x07,
  write_last = 0x08,
  write_last_immediate = 0x09,
  write_only = 0x0A,
  write_only_immediate = 0x0B,
  read_request = 0x0C,
  read_response_first = 0x0D,
  read_response_middle = 0x0E,
  read_response_last = 0x0F,
  read_response_only = 0x10,
  acknowledge = 0x11,
  atomic_acknowledge = 0x12,
  compare_swap = 0x13,
  fetch_add = 0x14,
  send_last_invalidate = 0x16,
  send_only_invalidate = 0x17,
};

constexpr bool is_reliable_connection(Opcode opcode) {
  return static_cast<std::uint8_t>(opcode) <= 0x17 && static_cast<std::uint8_t>(opcode) != 0x15;
}
constexpr bool is_response(Opcode opcode) {
  return opcode >= Opcode::read_response_first && opcode <= Opcode::atomic_acknowledge;
}
constexpr bool is_read_response(Opcode opcode) {
  return opcode >= Opcode::read_response_first && opcode <= Opcode::read_response_only;
}
constexpr bool is_atomic(Opcode opcode) {
  return opcode == Opcode::compare_swap || opcode == Opcode::fetch_add;
}
constexpr bool has_reth(Opcode opcode) {
  return opcode == Opcode::read_request || opcode == Opcode::write_first ||
         opcode == Opcode::write_only || opcode == Opcode::write_only_immediate;
}
constexpr bool has_aeth(Opcode opcode) {
  return opcode == Opcode::acknowledge || opcode == Opcode::atomic_acknowledge ||
         (is_read_response(opcode) && opcode != Opcode::read_response_middle);
}
/// "READ request", "ACK", …
std::string_view to_text(Opcode opcode);

constexpr std::uint32_t psn_mask = 0xFF'FFFF;
/// Returns how far PSN `a` is ahead of `b`, in [-2^23, 2^23): sequence numbers wrap around at 2^24.
constexpr std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t ahead = (a - b) & psn_mask;
  return ahead < 0x80'0000 ? static_cast<std::int32_t>(ahead)
                           : static_cast<std::int32_t>(ahead) - 0x100'0000;
}

constexpr std::size_t bth_bytes = 12;
/// Base transport header.
struct Bth {
  Opcode opcode = Opcode::send_only;
  bool solicited = false;
  bool migrated = true;
  std::uint8_t pad = 0;  ///< bytes behind the payload, 0 to 3
  std::uint16_t partition = 0xFFFF;
  std::uint32_t queue_pair = 0;  ///< the destination's, 24 bits
  bool wants_ack = false;
  std::uint32_t psn = 0;  ///< 24 bits
};

/// RDMA extended transport header, 16 bytes: READ request, first packet of a WRITE.
struct Reth {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t length = 0;
};

/// ACK extended transport header, 4 bytes.
struct Aeth {
  std::uint8_t syndrome = 0;
  std::uint32_t message_number = 0;  ///< 24 bits

  constexpr bool is_ack() const { return syndrome >> 5 == 0; }
  constexpr bool is_rnr_nak() const { return syndrome >> 5 == 1; }
  constexpr bool is_nak() const { return syndrome >> 5 == 3; }
  constexpr bool is_sequence_nak() const { return syndrome == 0x60; }
  /// The code of the RNR timer in an RNR NAK, 0 to 31.
  constexpr std::uint8_t code() const { return syndrome & 31; }
};
constexpr std::uint32_t message_number_mask = 0xFF'FFFF;
constexpr std::uint8_t sequence_nak_syndrome = 0x60;
constexpr std::uint8_t rnr_nak_syndrome(std::uint8_t code) {
  return static_cast<std::uint8_t>(0x20 | (code & 31));
}
/// An ACK that says nothing about credits.
constexpr std::uint8_t ack_syndrome = 0x1F;

/// Atomic extended transport header, 28 bytes.
struct AtomicEth {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;
};

/// The part of a packet between its network headers and its ICRC.
struct TransportPacket {
  Bth bth;
  std::optional<Reth> reth;
  std::optional<Aeth> aeth;
  std::optional<AtomicEth> atomic;
  std::uint64_t atomic_original = 0;  ///< returned by an ATOMIC ACK
  std::uint32_t payload = 0;          ///< bytes, without padding
};

/// Reads BTH and the headers that its opcode calls for. `wire_bytes` says how long the packet was
/// from its BTH up to its ICRC, of which `bytes` may have less: headers that do not lie in `bytes`
/// whole are left out. Nothing when the BTH does not, or when the packet was too short.
std::optional<TransportPacket> read_transport(std::span<const std::byte> bytes,
                                              std::size_t wire_bytes);
/// Writes the headers; returns how many bytes. `out` has room for 64.
std::size_t write_transport(const TransportPacket& packet, std::span<std::byte> out);

/// CRC-32 of IEEE 802.3 in pieces: reflected, begins with all ones, inverted at the end.
class Crc32 {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::byte value, std::size_t times);
  std::uint32_t value() const { return ~state_; }

 private:
  std::uint32_t state_ = 0xFFFF'FFFF;
};

/// The network layer in front of a BTH.
enum class NetworkLayer : std::uint8_t {
  ipv4,      ///< RoCEv2: IPv4 header, UDP header
  ipv6,      ///< RoCEv2: IPv6 header, UDP header
  grh,       ///< RoCEv1: global route header
  local,     ///< InfiniBand: local route header
  local_grh  ///< InfiniBand: local and global route header
};

/// The invariant CRC of a packet: `headers` are the network layer's, `rest` goes from the BTH up to
/// the ICRC. Fields that switches and routers may change count as ones.
std::uint32_t invariant_crc(NetworkLayer layer, std::span<const std::byte> headers,
                            std::span<const std::byte> rest);

/// The wait that each of the 32 codes of an RNR NAK asks for, in nanoseconds. Code 0 is the
/// longest.
extern const std::array<std::int64_t, 32> rnr_timer_ns;
/// The code of the shortest wait that is at least `ns`; nothing above 655.36 ms.
std::optional<std::uint8_t> rnr_code_of(std::int64_t ns);

}  // namespace weft::wire
