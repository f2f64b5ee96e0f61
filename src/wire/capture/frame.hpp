// SPDX-License-Identifier: Apache-2.0
// Frames of a capture that carry InfiniBand's transport: RoCEv2 (UDP port 4791 over IPv4 or IPv6),
// RoCEv1 (Ethernet type 0x8915) and InfiniBand itself.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "wire/capture/infiniband.hpp"

namespace weft::wire {

/// The first header of a frame, by the numbers of https://www.tcpdump.org/linktypes.html.
enum class LinkType : std::uint32_t {
  ethernet = 1,
  raw_ip = 101,
  linux_cooked = 113,
  erf = 197,
  infiniband = 247,
  linux_cooked2 = 276,
};

/// The source or destination of a packet. Can serve as a key.
struct NodeAddress {
  enum class Kind : std::uint8_t { none, lid, ipv4, ipv6 };
  Kind kind = Kind::none;
  std::uint64_t high = 0;
  std::uint64_t low = 0;  ///< all of a LID or an IPv4 address
  auto operator<=>(const NodeAddress&) const = default;

  static NodeAddress ipv4(std::uint32_t address) { return {Kind::ipv4, 0, address}; }
  static NodeAddress lid(std::uint16_t lid) { return {Kind::lid, 0, lid}; }
};
/// "10.0.0.1", "fd00:…:1", "LID 3".
std::string to_text(const NodeAddress& address);

/// A capture's evidence about a packet's ICRC.
enum class IcrcState : std::uint8_t { unchecked, right, wrong };

struct RdmaFrame {
  NodeAddress source;
  NodeAddress destination;
  std::uint16_t source_port = 0;  ///< of UDP: differs per flow
  TransportPacket packet;
  IcrcState icrc = IcrcState::unchecked;
};

constexpr std::uint16_t roce_port = 4791;

enum class FrameKind : std::uint8_t {
  rdma,
  other,         ///< other traffic, or a frame that is too short for its headers
  cut,           ///< may have been RDMA: the capture kept too little of it to tell
  unknown_link,  ///< of a link type that is not in LinkType
};

/// Reads a frame of `original` bytes, of which the capture kept `bytes`, into `frame`, which is
/// valid for `rdma` only. Checks the ICRC if `check_icrc` and the frame is whole.
FrameKind read_frame(LinkType link, std::span<const std::byte> bytes, std::uint32_t original,
                     bool check_icrc, RdmaFrame& frame);
/// The same; nothing unless it is RDMA.
std::optional<RdmaFrame> read_frame(LinkType link, std::span<const std::byte> bytes,
                                    std::uint32_t original, bool check_icrc);

/// Most bytes that write_frame needs beside the payload.
constexpr std::size_t frame_overhead = 160;
/// Writes a whole frame, with a payload of zeros, the IP header's checksum and the right ICRC.
/// `link` is ethernet, for addresses of IP, or infiniband, for LIDs. Returns its length; `out` has
/// room for frame_overhead and the payload.
std::size_t write_frame(LinkType link, const RdmaFrame& frame, std::span<std::byte> out);

}  // namespace weft::wire
