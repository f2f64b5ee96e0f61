// SPDX-License-Identifier: Apache-2.0
#include "wire/capture/infiniband.hpp"

#include <algorithm>

#include "wire/capture/big_endian.hpp"

namespace weft::wire {
namespace {

constexpr std::size_t reth_bytes = 16;
constexpr std::size_t aeth_bytes = 4;
constexpr std::size_t atomic_bytes = 28;
constexpr std::size_t original_bytes = 8;

/// Eight tables, so that a CRC takes eight bytes a step (slicing by eight).
struct CrcTables {
  std::array<std::array<std::uint32_t, 256>, 8> of{};
  constexpr CrcTables() {
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t crc = i;
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB8'8320 : 0);
      of[0][i] = crc;
    }
    for (std::uint32_t i = 0; i < 256; ++i) {
      for (std::size_t t = 1; t < 8; ++t) {
        of[t][i] = (of[t - 1][i] >> 8) ^ of[0][of[t - 1][i] & 0xFF];
      }
    }
  }
};
constexpr CrcTables crc_tables;

std::uint32_t u8(std::byte b) {
  return static_cast<std::uint32_t>(b);
}

constexpr std::array<std::string_view, 0x18> opcode_names = {"SEND first",
                                                             "SEND middle",
                                                             "SEND last",
                                                             "SEND last with immediate",
                                                             "SEND only",
                                                             "SEND only with immediate",
                                                             "WRITE first",
                                                             "WRITE middle",
                                                             "WRITE last",
                                                             "WRITE last with immediate",
                                                             "WRITE only",
                                                             "WRITE only with immediate",
                                                             "READ request",
                                                             "READ response first",
                                                             "READ response middle",
                                                             "READ response last",
                                                             "READ response only",
                                                             "ACK",
                                                             "ATOMIC ACK",
                                                             "CmpSwap",
                                                             "FetchAdd",
                                                             "opcode 0x15",
                                                             "SEND last with invalidate",
                                                             "SEND only with invalidate"};

}  // namespace

const std::array<std::int64_t, 32> rnr_timer_ns = {
    655'360'000, 10'000,      20'000,      30'000,     40'000,     60'000,     80'000,
    120'000,     160'000,     240'000,     320'000,    480'000,    640'000,    960'000,
    1'280'000,   1'920'000,   2'560'000,   3'840'000,  5'120'000,  7'680'000,  10'240'000,
    15'360'000,  20'480'000,  30'720'000,  40'960'000, 61'440'000, 81'920'000, 122'880'000,
    163'840'000, 245'760'000, 327'680'000, 491'520'000};

std::optional<std::uint8_t> rnr_code_of(std::int64_t ns) {
  for (std::uint8_t code = 1; code < 32; ++code) {
    if (rnr_timer_ns[code] >= ns) return code;
  }
  if (ns <= rnr_timer_ns[0]) return 0;
  return std::nullopt;
}

std::string_view to_text(Opcode opcode) {
  const auto i = static_cast<std::size_t>(opcode);
  return i < opcode_names.size() ? opcode_names[i] : "other opcode";
}

void Crc32::add(std::span<const std::byte> bytes) {
  const auto& t = crc_tables.of;
  std::uint32_t crc = state_;
  while (bytes.size() >= 8) {
    crc ^= u8(bytes[0]) | u8(bytes[1]) << 8 | u8(bytes[2]) << 16 | u8(bytes[3]) << 24;
    crc = t[7][crc & 0xFF] ^ t[6][crc >> 8 & 0xFF] ^ t[5][crc >> 16 & 0xFF] ^ t[4][crc >> 24] ^
          t[3][u8(bytes[4])] ^ t[2][u8(bytes[5])] ^ t[1][u8(bytes[6])] ^ t[0][u8(bytes[7])];
    bytes = bytes.subspan(8);
  }
  for (const std::byte b : bytes) crc = (crc >> 8) ^ t[0][(crc ^ u8(b)) & 0xFF];
  state_ = crc;
}

void Crc32::add(std::byte value, std::size_t times) {
  for (std::size_t i = 0; i < times; ++i) add(std::span(&value, 1));
}

std::uint32_t invariant_crc(NetworkLayer layer, std::span<const std::byte> headers,
                            std::span<const std::byte> rest) {
  constexpr std::byte ones{0xFF};
  std::array<std::byte, 128> masked{};
  WEFT_CHECK(headers.size() <= masked.size());
  std::copy(headers.begin(), headers.end(), masked.begin());
  const auto mask = [&](std::size_t from, std::size_t count) {
    for (std::size_t i = from; i < from + count && i < headers.size(); ++i) masked[i] = ones;
  };
  const auto mask_route = [&](std::size_t at) {  // traffic class, flow label, hop limit
    if (at < headers.size()) masked[at] |= std::byte{0x0F};
    mask(at + 1, 3);
    mask(at + 7, 1);
  };
  Crc32 crc;
  if (layer == NetworkLayer::local || layer == NetworkLayer::local_grh) {
    masked[0] |= std::byte{0xF0};  // virtual lane
    if (layer == NetworkLayer::local_grh) mask_route(8);
  } else {
    crc.add(ones, 8);  // in place of a local route header
  }
  if (layer == NetworkLayer::ipv4) {
    mask(1, 1);   // type of service
    mask(8, 1);   // time to live
    mask(10, 2);  // checksum
  } else if (layer == NetworkLayer::ipv6 || layer == NetworkLayer::grh) {
    mask_route(0);
  }
  if ((layer == NetworkLayer::ipv4 || layer == NetworkLayer::ipv6) && headers.size() >= 8) {
    mask(headers.size() - 2, 2);  // UDP's checksum
  }
  crc.add(std::span(masked).first(headers.size()));
  if (rest.size() > 5) {
    crc.add(rest.first(4));
    crc.add(ones, 1);
    crc.add(rest.subspan(5));
  } else {
    crc.add(rest);
  }
  return crc.value();
}

std::optional<TransportPacket> read_transport(std::span<const std::byte> bytes,
                                              std::size_t wire_bytes) {
  if (bytes.size() < bth_bytes) return std::nullopt;
  TransportPacket packet;
  Bth& bth = packet.bth;
  bth.opcode = static_cast<Opcode>(bytes[0]);
  bth.solicited = (bytes[1] & std::byte{0x80}) != std::byte{};
  bth.migrated = (bytes[1] & std::byte{0x40}) != std::byte{};
  bth.pad = static_cast<std::uint8_t>(bytes[1]) >> 4 & 3;
  bth.partition = get_u16(bytes, 2);
  bth.queue_pair = get_u32(bytes, 4) & psn_mask;
  bth.wants_ack = (bytes[8] & std::byte{0x80}) != std::byte{};
  bth.psn = get_u32(bytes, 8) & psn_mask;
  std::size_t at = bth_bytes;
  // Headers behind the BTH that the capture cut off are left out.
  const auto has = [&](std::size_t header) { return bytes.size() >= at + header; };
  if (has_reth(bth.opcode)) {
    if (has(reth_bytes)) {
      packet.reth = Reth{get_u64(bytes, at), get_u32(bytes, at + 8), get_u32(bytes, at + 12)};
    }
    at += reth_bytes;
  }
  if (has_aeth(bth.opcode)) {
    if (has(aeth_bytes)) {
      packet.aeth = Aeth{static_cast<std::uint8_t>(bytes[at]), get_u32(bytes, at) & psn_mask};
    }
    at += aeth_bytes;
  }
  if (bth.opcode == Opcode::atomic_acknowledge) {
    if (has(original_bytes)) packet.atomic_original = get_u64(bytes, at);
    at += original_bytes;
  }
  if (is_atomic(bth.opcode)) {
    if (has(atomic_bytes)) {
      packet.atomic = AtomicEth{get_u64(bytes, at), get_u32(bytes, at + 8), get_u64(bytes, at + 12),
                                get_u64(bytes, at + 20)};
    }
    at += atomic_bytes;
  }
  if (wire_bytes < at) return std::nullopt;  // shorter than its headers already on the wire
  const std::size_t behind = at + bth.pad;
  if (wire_bytes > behind) packet.payload = static_cast<std::uint32_t>(wire_bytes - behind);
  return packet;
}

std::size_t write_transport(const TransportPacket& packet, std::span<std::byte> out) {
  const Bth& bth = packet.bth;
  BigEndianWriter w(out);
  w.u8(static_cast<std::uint8_t>(bth.opcode));
  w.u8(static_cast<std::uint8_t>((bth.solicited ? 0x80 : 0) | (bth.migrated ? 0x40 : 0) |
                                 (bth.pad & 3) << 4));
  w.u16(bth.partition);
  w.u32(bth.queue_pair & psn_mask);
  w.u32((bth.psn & psn_mask) | (bth.wants_ack ? 0x8000'0000U : 0U));
  if (has_reth(bth.opcode)) {
    const Reth reth = packet.reth.value_or(Reth{});
    w.u64(reth.address);
    w.u32(reth.key);
    w.u32(reth.length);
  }
  if (has_aeth(bth.opcode)) {
    const Aeth aeth = packet.aeth.value_or(Aeth{});
    w.u32(static_cast<std::uint32_t>(aeth.syndrome) << 24 | (aeth.message_number & psn_mask));
  }
  if (bth.opcode == Opcode::atomic_acknowledge) w.u64(packet.atomic_original);
  if (is_atomic(bth.opcode)) {
    const AtomicEth atomic = packet.atomic.value_or(AtomicEth{});
    w.u64(atomic.address);
    w.u32(atomic.key);
    w.u64(atomic.swap_or_add);
    w.u64(atomic.compare);
  }
  return w.size();
}

}  // namespace weft::wire
