// SPDX-License-Identifier: Apache-2.0
#include "wire/capture/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "wire/capture/big_endian.hpp"

namespace weft::wire {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint16_t type_ipv4 = 0x0800;
constexpr std::uint16_t type_ipv6 = 0x86DD;
constexpr std::uint16_t type_roce1 = 0x8915;
constexpr std::uint8_t protocol_udp = 17;
constexpr std::size_t icrc_bytes = 4;
constexpr std::size_t vcrc_bytes = 2;
constexpr std::size_t lrh_bytes = 8;
constexpr std::size_t route_bytes = 40;  // GRH and IPv6 header

std::uint8_t u8(Bytes bytes, std::size_t at) {
  return static_cast<std::uint8_t>(bytes[at]);
}

std::uint32_t get_u32_le(Bytes bytes) {
  return static_cast<std::uint32_t>(u8(bytes, 0)) | static_cast<std::uint32_t>(u8(bytes, 1)) << 8 |
         static_cast<std::uint32_t>(u8(bytes, 2)) << 16 |
         static_cast<std::uint32_t>(u8(bytes, 3)) << 24;
}

/// Network headers and everything up to and with the ICRC, as far as it was kept.
struct Layers {
  NetworkLayer layer = NetworkLayer::ipv4;
  Bytes headers;
  Bytes rest;
  std::size_t rest_on_wire = 0;  ///< length of `rest` before the capture cut it
};

NodeAddress address6(Bytes bytes, std::size_t at) {
  return {NodeAddress::Kind::ipv6, get_u64(bytes, at), get_u64(bytes, at + 8)};
}

/// Reads the packet behind the network headers. As in the functions below, `cut` means that there
/// are too few bytes, be it that the capture or that the sender left them out.
FrameKind finish(const Layers& layers, bool check_icrc, RdmaFrame& frame) {
  if (layers.rest_on_wire < icrc_bytes) return FrameKind::other;
  const std::size_t on_wire = layers.rest_on_wire - icrc_bytes;
  if (layers.rest.size() < std::min(on_wire, bth_bytes)) return FrameKind::cut;
  const auto packet = read_transport(layers.rest, on_wire);
  if (!packet) return FrameKind::other;
  frame.packet = *packet;
  if (!check_icrc || layers.rest.size() < layers.rest_on_wire) return FrameKind::rdma;
  const std::uint32_t computed =
      invariant_crc(layers.layer, layers.headers, layers.rest.first(on_wire));
  frame.icrc =
      computed == get_u32_le(layers.rest.subspan(on_wire)) ? IcrcState::right : IcrcState::wrong;
  return FrameKind::rdma;
}

/// `ip` begins with an IPv4 or IPv6 header.
FrameKind read_ip(Bytes ip, bool check_icrc, RdmaFrame& frame) {
  if (ip.empty()) return FrameKind::cut;
  Layers layers;
  std::size_t header = 0, total = 0;
  if (u8(ip, 0) >> 4 == 4) {
    header = (u8(ip, 0) & 15U) * 4U;
    if (header < 20) return FrameKind::other;
    if (ip.size() < 10) return FrameKind::cut;
    if (u8(ip, 9) != protocol_udp) return FrameKind::other;
    if ((get_u16(ip, 6) & 0x3FFF) != 0) return FrameKind::other;  // a fragment
    if (ip.size() < header + 8) return FrameKind::cut;
    total = get_u16(ip, 2);
    frame.source = NodeAddress::ipv4(get_u32(ip, 12));
    frame.destination = NodeAddress::ipv4(get_u32(ip, 16));
    layers.layer = NetworkLayer::ipv4;
  } else if (u8(ip, 0) >> 4 == 6) {
    header = route_bytes;
    if (ip.size() < 7) return FrameKind::cut;
    if (u8(ip, 6) != protocol_udp) return FrameKind::other;
    if (ip.size() < header + 8) return FrameKind::cut;
    total = header + get_u16(ip, 4);
    frame.source = address6(ip, 8);
    frame.destination = address6(ip, 24);
    layers.layer = NetworkLayer::ipv6;
  } else {
    return FrameKind::other;
  }
  const std::size_t before = header + 8;
  if (total < before || get_u16(ip, header + 2) != roce_port) return FrameKind::other;
  frame.source_port = get_u16(ip, header);
  layers.headers = ip.first(before);
  layers.rest = ip.subspan(before, std::min(ip.size(), total) - before);
  layers.rest_on_wire = total - before;
  return finish(layers, check_icrc, frame);
}

FrameKind read_roce1(Bytes grh, bool check_icrc, RdmaFrame& frame) {
  if (grh.size() < route_bytes) return FrameKind::cut;
  const std::size_t length = get_u16(grh, 4);
  frame.source = address6(grh, 8);
  frame.destination = address6(grh, 24);
  const Bytes rest = grh.subspan(route_bytes);
  return finish({NetworkLayer::grh, grh.first(route_bytes),
                 rest.first(std::min(rest.size(), length)), length},
                check_icrc, frame);
}

FrameKind read_typed(std::uint16_t type, Bytes bytes, bool check_icrc, RdmaFrame& frame) {
  // Tags of virtual networks, at most a few.
  for (int tags = 0; tags < 4 && (type == 0x8100 || type == 0x88A8 || type == 0x9100); ++tags) {
    if (bytes.size() < 4) return FrameKind::cut;
    type = get_u16(bytes, 2);
    bytes = bytes.subspan(4);
  }
  if (type == type_ipv4 || type == type_ipv6) return read_ip(bytes, check_icrc, frame);
  return type == type_roce1 ? read_roce1(bytes, check_icrc, frame) : FrameKind::other;
}

/// `type_at`: where the header of the link, `header` bytes long, has the type of what follows.
FrameKind read_link(Bytes bytes, std::size_t header, std::size_t type_at, bool check_icrc,
                    RdmaFrame& frame) {
  if (bytes.size() < header) return FrameKind::cut;
  return read_typed(get_u16(bytes, type_at), bytes.subspan(header), check_icrc, frame);
}

FrameKind read_infiniband(Bytes bytes, bool check_icrc, RdmaFrame& frame) {
  if (bytes.size() < lrh_bytes) return FrameKind::cut;
  const unsigned next = u8(bytes, 1) & 3U;
  if (next < 2) return FrameKind::other;  // raw: no BTH
  // Counted in 4 bytes, from the local route header up to the ICRC.
  const std::size_t length = (get_u16(bytes, 4) & 0x7FFU) * 4U;
  std::size_t headers = lrh_bytes;
  frame.destination = NodeAddress::lid(get_u16(bytes, 2));
  frame.source = NodeAddress::lid(get_u16(bytes, 6));
  if (next == 3) {
    headers += route_bytes;
    if (bytes.size() < headers) return FrameKind::cut;
  }
  if (length < headers) return FrameKind::other;
  const Bytes rest = bytes.subspan(headers);
  return finish({next == 3 ? NetworkLayer::local_grh : NetworkLayer::local, bytes.first(headers),
                 rest.first(std::min(rest.size(), length - headers)), length - headers},
                check_icrc, frame);
}

std::uint16_t ip_checksum(Bytes header) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < header.size(); i += 2) sum += get_u16(header, i);
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

void write_ethernet(const RdmaFrame& frame, bool version6, BigEndianWriter& w) {
  for (const NodeAddress& side : {frame.destination, frame.source}) {  // locally administered
    w.u16(0x0200);
    w.u32(static_cast<std::uint32_t>(side.low));
  }
  w.u16(version6 ? type_ipv6 : type_ipv4);
}

void write_ip(const RdmaFrame& frame, bool version6, std::size_t udp_length, BigEndianWriter& w) {
  if (version6) {
    w.u32(0x6000'0000);
    w.u16(static_cast<std::uint16_t>(udp_length));
    w.u8(protocol_udp);
    w.u8(64);
    for (const NodeAddress& side : {frame.source, frame.destination}) {
      w.u64(side.high);
      w.u64(side.low);
    }
  } else {
    w.u16(0x4500);
    w.u16(static_cast<std::uint16_t>(20 + udp_length));
    w.u32(0x4000);  // identification 0, do not fragment
    w.u16(64 << 8 | protocol_udp);
    w.u16(0);  // its checksum comes later
    w.u32(static_cast<std::uint32_t>(frame.source.low));
    w.u32(static_cast<std::uint32_t>(frame.destination.low));
  }
  w.u16(frame.source_port);
  w.u16(roce_port);
  w.u16(static_cast<std::uint16_t>(udp_length));
  w.u16(0);
}

void write_lrh(const RdmaFrame& frame, std::size_t rest, BigEndianWriter& w) {
  w.u16(0x0002);  // lane 0, level 0, BTH is next
  w.u16(static_cast<std::uint16_t>(frame.destination.low));
  w.u16(static_cast<std::uint16_t>((lrh_bytes + rest) / 4 + 1));
  w.u16(static_cast<std::uint16_t>(frame.source.low));
}

}  // namespace

std::string to_text(const NodeAddress& address) {
  const std::uint64_t low = address.low;
  switch (address.kind) {
    case NodeAddress::Kind::none:
      break;
    case NodeAddress::Kind::lid:
      return fmt::format("LID {}", low);
    case NodeAddress::Kind::ipv4:
      return fmt::format("{}.{}.{}.{}", low >> 24 & 255, low >> 16 & 255, low >> 8 & 255,
                         low & 255);
    case NodeAddress::Kind::ipv6: {
      std::string text;
      for (const std::uint64_t half : {address.high, address.low}) {
        for (int shift = 48; shift >= 0; shift -= 16) {
          text += fmt::format("{}{:x}", text.empty() ? "" : ":", half >> shift & 0xFFFF);
        }
      }
      return text;
    }
  }
  return "nowhere";
}

FrameKind read_frame(LinkType link, Bytes bytes, std::uint32_t original, bool check_icrc,
                     RdmaFrame& frame) {
  frame = {};
  if (original < bytes.size()) bytes = bytes.first(original);
  const auto read = [&] {
    switch (link) {
      case LinkType::ethernet:
        return read_link(bytes, 14, 12, check_icrc, frame);
      case LinkType::linux_cooked:
        return read_link(bytes, 16, 14, check_icrc, frame);
      case LinkType::linux_cooked2:
        return read_link(bytes, 20, 0, check_icrc, frame);
      case LinkType::raw_ip:
        return read_ip(bytes, check_icrc, frame);
      case LinkType::infiniband:
        return read_infiniband(bytes, check_icrc, frame);
      case LinkType::erf:
        break;
    }
    return FrameKind::unknown_link;
  };
  const FrameKind kind = read();
  return kind == FrameKind::cut && bytes.size() >= original ? FrameKind::other : kind;
}

std::optional<RdmaFrame> read_frame(LinkType link, Bytes bytes, std::uint32_t original,
                                    bool check_icrc) {
  RdmaFrame frame;
  if (read_frame(link, bytes, original, check_icrc, frame) != FrameKind::rdma) return std::nullopt;
  return frame;
}

std::size_t write_frame(LinkType link, const RdmaFrame& frame, std::span<std::byte> out) {
  std::array<std::byte, 64> transport{};
  TransportPacket packet = frame.packet;
  packet.bth.pad = static_cast<std::uint8_t>((4 - packet.payload % 4) % 4);
  const std::size_t headers = write_transport(packet, transport);
  const std::size_t rest = headers + packet.payload + packet.bth.pad;
  const bool infiniband = link == LinkType::infiniband;
  const bool version6 = frame.source.kind == NodeAddress::Kind::ipv6;
  const std::size_t ethernet = infiniband ? 0 : 14;
  WEFT_CHECK(out.size() >= frame_overhead + packet.payload);

  BigEndianWriter w(out);
  if (infiniband) {
    write_lrh(frame, rest, w);
  } else {
    write_ethernet(frame, version6, w);
    write_ip(frame, version6, 8 + rest + icrc_bytes, w);
    if (!version6) {
      const auto ip = out.subspan(ethernet, 20);
      BigEndianWriter(ip.subspan(10)).u16(ip_checksum(ip));
    }
  }
  const std::size_t network = w.size() - ethernet;
  w.bytes(std::span(transport).first(headers));
  std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(w.size()), rest - headers, std::byte{});
  const std::size_t end = ethernet + network + rest;
  const std::uint32_t crc = invariant_crc(
      infiniband ? NetworkLayer::local : (version6 ? NetworkLayer::ipv6 : NetworkLayer::ipv4),
      out.subspan(ethernet, network), out.subspan(ethernet + network, rest));
  for (std::size_t i = 0; i < icrc_bytes; ++i) out[end + i] = static_cast<std::byte>(crc >> 8 * i);
  if (!infiniband) return end + icrc_bytes;
  std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(end + icrc_bytes), vcrc_bytes, std::byte{});
  return end + icrc_bytes + vcrc_bytes;
}

}  // namespace weft::wire
