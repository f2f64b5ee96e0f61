// SPDX-License-Identifier: Apache-2.0
// The adapter's bytes on the wire: every libfabric message is one frame, a header and a payload
// whose layout depends on the kind. Little-endian. Decoding trusts nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "fabric/job_key/job_key.hpp"
#include "weft/ids.hpp"

namespace weft::ofi {

inline constexpr std::uint8_t kProtocolVersion = 2;
inline constexpr std::size_t kMaxAddressText = 512;

enum class FrameKind : std::uint8_t {
  hello = 1,       ///< the sender and a nonce to be proven against; outside of a session
  welcome,         ///< proof of the job secret over both nonces; outside of a session
  message,         ///< the payload is the application's
  write_chunk,     ///< WriteChunk and bytes, where the provider has no one-sided writes
  heartbeat,       ///< I am here
  credit,          ///< only the header's credits
  region_query,    ///< RegionKey: may I write there?
  region_open,     ///< RegionGrant: yes, and this is its extent
  region_unknown,  ///< RegionKey: no
  region_closed,   ///< RegionKey: no longer
  goodbye,         ///< the process ends
};

/// In front of every payload. 24 bytes, so that a small message fits the providers' inject sizes.
struct FrameHeader {
  std::uint8_t version = kProtocolVersion;
  FrameKind kind = FrameKind::message;
  std::uint16_t credits = 0;   ///< messages the sender of this frame may be sent in addition
  std::uint32_t from = 0;      ///< NodeId
  std::uint64_t token = 0;     ///< of the session and direction; 0 outside of one
  std::uint32_t sequence = 0;  ///< counts the frames of a session and direction from 0
  std::uint32_t size = 0;      ///< payload bytes
};
static_assert(sizeof(FrameHeader) == 24);

using Nonce = std::array<std::byte, 16>;

/// Payload of `hello`. `address` points into the decoded bytes. Recorded, it is worth nothing: it
/// is for the one endpoint whose nonce it names, and that one knows later attempts.
struct Hello {
  NodeId to;
  Incarnation incarnation;
  Nonce nonce{};
  Nonce receiver{};           ///< of the endpoint that is spoken to; part of its address
  std::uint64_t attempt = 0;  ///< of the sender's endpoint, at any session; they only grow
  std::string_view address;
  Proof proof{};
};

/// Payload of `welcome`.
struct Welcome {
  NodeId to;
  Incarnation incarnation;     ///< of the sender
  Incarnation to_incarnation;  ///< which life of the receiver is meant
  Nonce nonce{};               ///< the sender's
  Nonce to_nonce{};            ///< the receiver's, from its hello
  std::uint64_t attempt = 0;   ///< of the sender, the one of `nonce`
  std::uint32_t window = 0;    ///< messages the receiver may send at first
  std::uint32_t max_message = 0;
  Proof proof{};
};

/// Payload of `region_query`, `region_unknown` and `region_closed`.
struct RegionKey {
  std::uint64_t key = 0;
};

/// Payload of `region_open`.
struct RegionGrant {
  std::uint64_t key = 0;
  std::uint64_t base = 0;
  std::uint64_t length = 0;
};

/// In front of the bytes of a `write_chunk`.
struct WriteChunk {
  std::uint64_t key = 0;
  std::uint64_t offset = 0;  ///< relative to the region
};

struct Frame {
  FrameHeader header;
  std::span<const std::byte> payload;
};

/// A frame that is whole, of our version and of a known kind; nothing otherwise.
std::optional<Frame> decode_frame(std::span<const std::byte> bytes);
/// Writes the header over the first bytes of `out`.
void encode_header(const FrameHeader& header, std::span<std::byte> out);

std::optional<Hello> decode_hello(std::span<const std::byte> payload);
std::optional<Welcome> decode_welcome(std::span<const std::byte> payload);
std::optional<RegionKey> decode_region_key(std::span<const std::byte> payload);
std::optional<RegionGrant> decode_region_grant(std::span<const std::byte> payload);

/// Each returns the payload's length; `out` must have room.
std::size_t encode(const Hello& hello, std::span<std::byte> out);
std::size_t encode(const Welcome& welcome, std::span<std::byte> out);

/// The part of a hello or a welcome that its proof covers: the encoded payload without the proof.
std::span<const std::byte> proven_part(std::span<const std::byte> payload);

}  // namespace weft::ofi
