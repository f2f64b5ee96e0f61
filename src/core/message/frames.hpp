// SPDX-License-Identifier: Apache-2.0
// Frames: the units that message layers exchange. docs/formats.md has the layout. Decoding trusts
// nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "core/message/digest.hpp"
#include "core/message/name.hpp"
#include "weft/fabric.hpp"
#include "wire/codec.hpp"

namespace weft::message {

inline constexpr std::uint16_t protocol_version = 6;
inline constexpr std::size_t header_bytes = 32;
inline constexpr std::size_t next_header_bytes = 8;
inline constexpr std::size_t longest_control_frame = 64;

/// The receiver's credit that an unasked message uses.
inline std::uint64_t credit_cost(std::uint64_t eager_bytes) {
  return header_bytes * 2 + eager_bytes;
}

enum class FrameKind : std::uint8_t {
  hello = 1,      ///< first on each connection: version, credit
  eager = 2,      ///< a message (paper 4, TRY; with `asked` the answer to a GET)
  announce = 3,   ///< names a message that the receiver must request
  get = 4,        ///< asks for a message, which may not exist yet (4.4.3)
  written = 5,    ///< the message is in the memory that `get` named
  credit = 6,     ///< how much may be sent unasked, and how much has arrived
  have = 7,       ///< that message was received before: no need to send it
  gone = 8,       ///< the requested message is not kept any more
  too_long = 9,   ///< the requested message does not fit
  done = 10,      ///< the sender's program is over; to node 0
  leave = 11,     ///< all programs are over; from node 0
  left = 12,      ///< the sender leaves; to node 0
  ask = 13,       ///< may the sender's program begin? To node 0
  begin = 14,     ///< it may: not all programs are over; from node 0
  forget = 15,    ///< no life of the receiver asks for messages before that one
  diverged = 16,  ///< an earlier life of the message's sender sent something else up to it
  pull = 17,      ///< the sender repeats messages of earlier connections only on request
  next = 18,      ///< as `eager`: the message that follows the one of the last eager or next frame
  had = 19,       ///< all messages before that one came before: no need to send them
};

/// Any frame; which fields count depends on its kind.
struct Frame {
  FrameKind kind = FrameKind::hello;
  bool urgent = false;  ///< eager, written: the sender waits to hear that it arrived
  bool pulls = false;   ///< hello: as `pull`
  bool asked = false;   ///< eager
  FlowKey flow;
  Serial serial = 0;
  std::uint64_t size = 0;  ///< of the message; not of an eager one, which is there
  ToldDigest digest = 0;   ///< eager, announce, written, have: of the flow up to it; had: before
  RemoteRegion region;     ///< get; length 0: none, the answer comes as `eager`
  std::uint16_t version = 0;
  std::uint64_t granted = 0;        ///< hello, credit: bytes since the connection began
  std::uint64_t received = 0;       ///< credit: frames with or about messages, likewise
  std::span<const std::byte> body;  ///< eager
};

inline constexpr std::uint8_t urgent_bit = 1;  // of a hello: it pulls
inline constexpr std::uint8_t asked_bit = 2;
inline std::uint8_t flags_of(const Frame& frame) {
  const bool first = frame.kind == FrameKind::hello ? frame.pulls : frame.urgent;
  return static_cast<std::uint8_t>((first ? urgent_bit : 0) | (frame.asked ? asked_bit : 0));
}

/// The header of a frame that names a message: kind, flags, type and tag in the first word, then
/// generation, serial, and the size or, of an eager one, the digest. Whole words, since each
/// message pays for putting them together.
using FrameHeader = std::array<std::uint64_t, 4>;
static_assert(sizeof(FrameHeader) == header_bytes);
inline FrameHeader header_of(const Frame& frame) {
  return {std::uint64_t{frame.flow.tag.value()} << 32 |
              static_cast<std::uint64_t>(frame.flow.type) << 16 |
              std::uint64_t{flags_of(frame)} << 8 | static_cast<std::uint64_t>(frame.kind),
          frame.flow.generation.value(), frame.serial,
          frame.kind == FrameKind::eager ? frame.digest : frame.size};
}

/// The same of a message that comes with its bytes, unasked, and whose sender does not wait.
inline FrameHeader eager_header(const FlowKey& flow, Serial serial, ToldDigest digest) {
  return {std::uint64_t{flow.tag.value()} << 32 | static_cast<std::uint64_t>(flow.type) << 16 |
              static_cast<std::uint64_t>(FrameKind::eager),
          flow.generation.value(), serial, digest};
}

/// A message that comes with its bytes: most frames are.
struct EagerFrame {
  bool urgent = false;
  bool asked = false;
  FlowKey flow;
  Serial serial = 0;
  ToldDigest digest = 0;
  std::span<const std::byte> body;
};

/// The low half of the header of a `next` frame whose message is the flow's `serial`th. The low
/// bits of the number show that both ends count alike.
constexpr std::uint32_t next_start(Serial serial) {
  return static_cast<std::uint32_t>(serial) << 8 | static_cast<std::uint32_t>(FrameKind::next);
}
/// All of it: the digest is its other half.
constexpr std::uint64_t next_header(Serial serial, ToldDigest digest) {
  return std::uint64_t{digest} << 32 | next_start(serial);
}
/// What it says.
struct NextFrame {
  std::uint32_t start = 0;  ///< `next_start` of its message
  ToldDigest digest = 0;
  std::span<const std::byte> body;
};
/// The body refers to `bytes`. None when it is another frame, or none at all.
inline std::optional<NextFrame> decode_next(std::span<const std::byte> bytes) {
  std::uint64_t header = 0;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (static_cast<FrameKind>(static_cast<std::uint8_t>(header)) != FrameKind::next) {
    return std::nullopt;
  }
  return NextFrame{.start = static_cast<std::uint32_t>(header),
                   .digest = static_cast<ToldDigest>(header >> 32),
                   .body = bytes.subspan(sizeof header)};
}

constexpr bool is_departure(FrameKind kind) {
  return kind >= FrameKind::done && kind <= FrameKind::begin;
}

constexpr bool is_known(MessageType type) {
  return type == MessageType::point_to_point || type == MessageType::collective;
}

/// The body refers to `bytes`. None when it is another frame, or none at all.
inline std::optional<EagerFrame> decode_eager(std::span<const std::byte> bytes) {
  FrameHeader header;
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(header.data(), bytes.data(), sizeof header);
  const auto start = static_cast<std::uint32_t>(header[0]);
  // All of it but the known flags and the type.
  constexpr std::uint32_t fixed = ~(0x00ff'0000u | (urgent_bit | asked_bit) << 8);
  const auto type = static_cast<MessageType>(static_cast<std::uint8_t>(start >> 16));
  if ((start & fixed) != static_cast<std::uint32_t>(FrameKind::eager) || !is_known(type) ||
      header[3] >> 32 != 0) {
    return std::nullopt;
  }
  return EagerFrame{.urgent = (start >> 8 & urgent_bit) != 0,
                    .asked = (start >> 8 & asked_bit) != 0,
                    .flow = {.generation = Generation(header[1]),
                             .tag = Tag(static_cast<std::uint32_t>(header[0] >> 32)),
                             .type = type},
                    .serial = header[2],
                    .digest = static_cast<ToldDigest>(header[3]),
                    .body = bytes.subspan(sizeof header)};
}

/// All but the body, which follows it in the same message.
void encode(wire::Writer& out, const Frame& frame);
/// The body refers to `bytes`. None when it is not a frame, or one of `next`.
std::optional<Frame> decode(std::span<const std::byte> bytes);

}  // namespace weft::message
