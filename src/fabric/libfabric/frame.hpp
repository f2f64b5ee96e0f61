// SPDX-License-Identifier: Apache-2.0
// The wire format of the libfabric fabric: every libfabric message is one frame, a header and a
// payload whose layout depends on the frame's kind. Numbers are little-endian. The decoders check
// every length and every kind.
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
  hello = 1,       ///< names the sender and carries its nonce; sent before a session exists
  welcome,         ///< proves the job secret over both nonces; sent before a session exists
  message,         ///< carries a message of the application
  write_chunk,     ///< carries part of a write where the provider has no one-sided writes
  heartbeat,       ///< shows a silent peer that the sender lives
  credit,          ///< carries only the header's credits
  region_query,    ///< RegionKey: asks whether the region is exposed
  region_open,     ///< RegionGrant: confirms the region and gives its extent
  region_unknown,  ///< RegionKey: denies that the region is exposed
  region_closed,   ///< RegionKey: announces that the region's exposure has ended
  goodbye,         ///< announces that the process ends
};

/// Precedes every payload. Its 24 bytes keep small messages within the providers' inject sizes.
struct FrameHeader {
  std::uint8_t version = kProtocolVersion;
  FrameKind kind = FrameKind::message;
  std::uint16_t credits = 0;   ///< further messages that this frame's sender can receive
  std::uint32_t from = 0;      ///< NodeId
  std::uint64_t token = 0;     ///< names session and direction; 0 before a session exists
  std::uint32_t sequence = 0;  ///< counts the frames of a session and direction from 0
  std::uint32_t size = 0;      ///< payload bytes
};
static_assert(sizeof(FrameHeader) == 24);

using Nonce = std::array<std::byte, 16>;

/// Payload of `hello`. `address` points into the decoded bytes. An attacker gains nothing by
/// replaying a recorded hello: it names the nonce of the one endpoint that accepts it, and that
/// endpoint refuses attempts older than the last one it saw.
struct Hello {
  NodeId to;
  Incarnation incarnation;
  Nonce nonce{};
  Nonce receiver{};           ///< the receiving endpoint's, as its address states it
  std::uint64_t attempt = 0;  ///< number of the sender's attempts to connect; it only grows
  std::string_view address;
  Proof proof{};
};

/// Payload of `welcome`.
struct Welcome {
  NodeId to;
  Incarnation incarnation;        ///< of the sender
  Incarnation to_incarnation;     ///< the receiver's incarnation that the sender expects
  Nonce nonce{};                  ///< the sender's
  Nonce to_nonce{};               ///< the receiver's, from its hello
  std::uint64_t attempt = 0;      ///< the sender's attempt that `nonce` belongs to
  std::uint32_t window = 0;       ///< the receiver's initial credit, in messages
  std::uint32_t max_message = 0;  ///< the sender's largest message in bytes
  Proof proof{};
};

/// Payload of `region_query`, `region_unknown` and `region_closed`.
struct RegionKey {
  std::uint64_t key = 0;
};

/// Payload of `region_open`; `length` is in bytes.
struct RegionGrant {
  std::uint64_t key = 0;
  std::uint64_t base = 0;
  std::uint64_t length = 0;
};

/// Precedes the bytes of a `write_chunk`.
struct WriteChunk {
  std::uint64_t key = 0;
  std::uint64_t offset = 0;  ///< in bytes, from the beginning of the region
};

/// A decoded frame. `payload` points into the decoded bytes.
struct Frame {
  FrameHeader header;
  std::span<const std::byte> payload;
};

/// Decodes a frame; nothing when it is truncated, of another version or of an unknown kind.
std::optional<Frame> decode_frame(std::span<const std::byte> bytes);
/// Writes the header to the first bytes of `out`. Aborts when `out` is shorter.
void encode_header(const FrameHeader& header, std::span<std::byte> out);

// Each decoder returns nothing when the payload is not of exactly that layout.
std::optional<Hello> decode_hello(std::span<const std::byte> payload);
std::optional<Welcome> decode_welcome(std::span<const std::byte> payload);
std::optional<RegionKey> decode_region_key(std::span<const std::byte> payload);
std::optional<RegionGrant> decode_region_grant(std::span<const std::byte> payload);

/// Writes the payload to `out` and returns its length in bytes. Aborts when `out` is too short.
std::size_t encode(const Hello& hello, std::span<std::byte> out);
std::size_t encode(const Welcome& welcome, std::span<std::byte> out);

/// Returns the part of an encoded hello or welcome that its proof covers: all bytes but the proof.
std::span<const std::byte> proven_part(std::span<const std::byte> payload);

}  // namespace weft::ofi
