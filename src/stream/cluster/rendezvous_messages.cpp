// SPDX-License-Identifier: Apache-2.0
#include "stream/cluster/rendezvous_messages.hpp"

#include <cmath>

#include "base/check.hpp"

namespace weft::stream {
namespace {

void put_text(const std::string& text, wire::Writer& out) {
  WEFT_CHECK(text.size() <= longest_hello_text, "a text of {} bytes", text.size());
  out.put(static_cast<std::uint16_t>(text.size()));
  out.put_bytes(std::as_bytes(std::span(text)));
}

std::string get_text(wire::Reader& in) {
  const auto length = in.get<std::uint16_t>();
  const auto bytes = in.get_bytes(length);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The fields in their order. `v` is a wire::Writer or a wire::Reader.
constexpr auto figures_fields = [](auto& v, auto& figures) {
  v.fields(figures.timeslices, figures.bytes, figures.spread_us, figures.buffer_fill);
};

/// Addresses go on as words of a line, the rest into messages to people.
bool is_plain(const std::string& text) {
  for (const unsigned char c : text) {
    if ((c < ' ' && c != '\n') || c == 0x7f) return false;
  }
  return text.size() <= longest_hello_text;
}

/// A reader behind the kind, or nothing when the kind is another.
std::optional<wire::Reader> body(std::span<const std::byte> message, RendezvousKind kind) {
  wire::Reader in(message);
  if (in.get<std::uint8_t>() != static_cast<std::uint8_t>(kind) || !in.ok()) return std::nullopt;
  return in;
}

}  // namespace

std::optional<RendezvousKind> rendezvous_kind(std::span<const std::byte> message) {
  if (message.empty()) return std::nullopt;
  const auto kind = static_cast<RendezvousKind>(message[0]);
  if (kind < RendezvousKind::hello || kind > RendezvousKind::time_reply) return std::nullopt;
  return kind;
}

void encode(RendezvousKind kind, wire::Writer& out) {
  out.put(static_cast<std::uint8_t>(kind));
}

void encode(const RendezvousHello& m, wire::Writer& out) {
  encode(RendezvousKind::hello, out);
  out.put(static_cast<std::uint8_t>(m.begun ? 1 : 0));
  put_text(m.machine, out);
  put_text(m.options, out);
  put_text(m.address, out);
  WEFT_CHECK(m.clock.size() <= longest_clock_name);
  put_text(m.clock, out);
}

void encode(const RendezvousProgress& m, wire::Writer& out) {
  encode(RendezvousKind::progress, out);
  out.put(static_cast<std::uint8_t>(m.begun ? 1 : 0));
  figures_fields(out, m.figures);
}

void encode(const ReportPiece& m, wire::Writer& out) {
  encode(RendezvousKind::report, out);
  out.fields(m.total, m.offset);
  out.put_bytes(m.bytes);
}

void encode_time_request(InstantOf<AskingClock> asked, wire::Writer& out) {
  encode(RendezvousKind::time_request, out);
  out.put(asked.ticks());
}

void encode(const TimeReply& m, wire::Writer& out) {
  encode(RendezvousKind::time_reply, out);
  out.fields(m.asked, m.answered);
}

std::optional<RendezvousHello> decode_rendezvous_hello(std::span<const std::byte> message) {
  auto in = body(message, RendezvousKind::hello);
  if (!in) return std::nullopt;
  RendezvousHello hello;
  const auto begun = in->get<std::uint8_t>();
  hello.begun = begun == 1;
  hello.machine = get_text(*in);
  hello.options = get_text(*in);
  hello.address = get_text(*in);
  hello.clock = get_text(*in);
  if (!in->done() || begun > 1 || hello.address.empty()) return std::nullopt;
  if (!is_plain(hello.machine) || !is_plain(hello.options) || !is_plain(hello.address)) {
    return std::nullopt;
  }
  if (!is_plain(hello.clock) || hello.clock.size() > longest_clock_name) return std::nullopt;
  return hello;
}

std::optional<RendezvousProgress> decode_rendezvous_progress(std::span<const std::byte> message) {
  auto in = body(message, RendezvousKind::progress);
  if (!in) return std::nullopt;
  RendezvousProgress progress;
  const auto begun = in->get<std::uint8_t>();
  progress.begun = begun == 1;
  StreamProgress& figures = progress.figures;
  figures_fields(*in, figures);
  if (!in->done() || begun > 1) return std::nullopt;
  if (!std::isfinite(figures.spread_us) || !std::isfinite(figures.buffer_fill)) return std::nullopt;
  return progress;
}

std::optional<ReportPiece> decode_report_piece(std::span<const std::byte> message) {
  auto in = body(message, RendezvousKind::report);
  if (!in) return std::nullopt;
  ReportPiece piece;
  in->fields(piece.total, piece.offset);
  if (!in->ok()) return std::nullopt;
  piece.bytes = in->get_bytes(in->left());
  if (piece.bytes.empty() || piece.total > largest_report || piece.offset > piece.total ||
      piece.bytes.size() > piece.total - piece.offset) {
    return std::nullopt;
  }
  return piece;
}

std::optional<InstantOf<AskingClock>> decode_time_request(std::span<const std::byte> message) {
  auto in = body(message, RendezvousKind::time_request);
  if (!in) return std::nullopt;
  const InstantOf<AskingClock> asked(in->get<std::int64_t>());
  if (!in->done()) return std::nullopt;
  return asked;
}

std::optional<TimeReply> decode_time_reply(std::span<const std::byte> message) {
  auto in = body(message, RendezvousKind::time_reply);
  if (!in) return std::nullopt;
  TimeReply reply;
  in->fields(reply.asked, reply.answered);
  if (!in->done()) return std::nullopt;
  return reply;
}

}  // namespace weft::stream
