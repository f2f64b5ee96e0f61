// SPDX-License-Identifier: Apache-2.0
// The messages between nodes of a cluster besides the stream itself, over a rendezvous
// (rendezvous.hpp). All of it fits into one message of any fabric but the report, which goes in
// pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/clocks.hpp"
#include "weft/stream.hpp"
#include "wire/codec.hpp"

namespace weft::stream {

enum class RendezvousKind : std::uint8_t {
  hello = 1,  ///< the sender's description, once per connection
  progress,   ///< node → node 0: figures, and "I live"; node 0 → node: "I live"
  report,     ///< node → node 0: a piece of its report
  stop,       ///< end the stream soon
  leave,      ///< node 0 → node: the job is over
  time_request,
  time_reply,
};

/// The address of a node's fabric, and the options that it runs with.
struct RendezvousHello {
  bool begun = false;   ///< the sender takes part in a stream that has begun
  std::string machine;  ///< the same for all nodes of a machine
  std::string options;  ///< those that all nodes must share, a line each
  std::string address;  ///< of the stream's fabric
  std::string clock;    ///< the same for all nodes that share a monotonic clock
};

/// A node's figures, and whether it takes part.
struct RendezvousProgress {
  bool begun = false;
  StreamProgress figures;  ///< without elapsed time and goodput
};

struct ReportPiece {
  std::uint64_t total = 0;           ///< bytes of the whole report
  std::uint64_t offset = 0;          ///< of the first byte of this piece
  std::span<const std::byte> bytes;  ///< in place when decoded
};

struct TimeReply {
  InstantOf<AskingClock> asked{};  ///< copied from the request
  InstantOf<LeaderClock> answered{};
};

/// Longest text in a hello; longer ones cannot be encoded and are refused when decoded.
constexpr std::size_t longest_hello_text = 4096;
/// The longest name of a clock, in bytes.
constexpr std::size_t longest_clock_name = 256;
/// A hello with three of them and a clock, and every other message, fits.
constexpr std::size_t largest_rendezvous_message = 16 * 1024;
constexpr std::size_t report_piece = 15 * 1024;
constexpr std::uint64_t largest_report = 64u << 20;

/// Returns the kind in a message's first byte; none when the message is empty or the kind unknown.
std::optional<RendezvousKind> rendezvous_kind(std::span<const std::byte> message);

/// Messages that are nothing but their kind: stop, leave.
void encode(RendezvousKind kind, wire::Writer& out);
void encode(const RendezvousHello& m, wire::Writer& out);
void encode(const RendezvousProgress& m, wire::Writer& out);
void encode(const ReportPiece& m, wire::Writer& out);
void encode_time_request(InstantOf<AskingClock> asked, wire::Writer& out);
void encode(const TimeReply& m, wire::Writer& out);

// Decoders answer nothing when the bytes are not exactly such a message.
std::optional<RendezvousHello> decode_rendezvous_hello(std::span<const std::byte> message);
std::optional<RendezvousProgress> decode_rendezvous_progress(std::span<const std::byte> message);
/// The piece lies within its report, and that is not longer than `largest_report`.
std::optional<ReportPiece> decode_report_piece(std::span<const std::byte> message);
std::optional<InstantOf<AskingClock>> decode_time_request(std::span<const std::byte> message);
std::optional<TimeReply> decode_time_reply(std::span<const std::byte> message);

}  // namespace weft::stream
