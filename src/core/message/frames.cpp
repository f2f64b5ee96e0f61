// SPDX-License-Identifier: Apache-2.0
#include "core/message/frames.hpp"

#include <utility>

namespace weft::message {
namespace {

bool names_message(FrameKind kind) {
  switch (kind) {
    case FrameKind::eager:
    case FrameKind::announce:
    case FrameKind::get:
    case FrameKind::written:
    case FrameKind::have:
    case FrameKind::gone:
    case FrameKind::too_long:
    case FrameKind::forget:
    case FrameKind::diverged:
    case FrameKind::had:
      return true;
    default:
      return false;
  }
}

bool known(FrameKind kind) {
  return (kind >= FrameKind::hello && kind <= FrameKind::pull) || kind == FrameKind::had;
}

bool has_digest(FrameKind kind) {
  return kind == FrameKind::announce || kind == FrameKind::have || kind == FrameKind::had;
}

constexpr std::size_t start_bytes = 4;  // of all frames; in those with a name the tag follows

// The fields behind the start or the header. `v` is a wire::Writer or a wire::Reader.
constexpr auto unnamed_fields = [](auto& v, auto& frame) {
  if (frame.kind == FrameKind::hello) v.fields(frame.version);
  if (frame.kind == FrameKind::hello || frame.kind == FrameKind::credit) {
    v.fields(frame.granted, frame.received);
  }
};
constexpr auto named_fields = [](auto& v, auto& frame) {
  if (has_digest(frame.kind)) v.fields(frame.digest);
  if (frame.kind == FrameKind::get) v.fields(frame.region);
};

bool decode_unnamed(std::span<const std::byte> bytes, Frame& frame) {
  wire::Reader in(bytes);
  unnamed_fields(in, frame);
  return in.done();
}

bool decode_into(std::span<const std::byte> bytes, Frame& frame) {
  std::uint32_t start = 0;
  if (bytes.size() < sizeof start) return false;
  std::memcpy(&start, bytes.data(), sizeof start);
  const auto flags = static_cast<std::uint8_t>(start >> 8);
  const auto type = static_cast<MessageType>(static_cast<std::uint8_t>(start >> 16));
  frame.kind = static_cast<FrameKind>(static_cast<std::uint8_t>(start));
  (frame.kind == FrameKind::hello ? frame.pulls : frame.urgent) = (flags & urgent_bit) != 0;
  frame.asked = (flags & asked_bit) != 0;
  const bool has_nothing_else = (flags & ~(urgent_bit | asked_bit)) == 0 && start >> 24 == 0;
  if (!known(frame.kind) || !has_nothing_else) return false;
  if (!names_message(frame.kind)) return decode_unnamed(bytes.subspan(start_bytes), frame);
  FrameHeader header;
  if (bytes.size() < sizeof header || !is_known(type)) return false;
  std::memcpy(header.data(), bytes.data(), sizeof header);
  frame.flow = {.generation = Generation(header[1]),
                .tag = Tag(static_cast<std::uint32_t>(header[0] >> 32)),
                .type = type};
  frame.serial = header[2];
  frame.size = header[3];
  const auto rest = bytes.subspan(header_bytes);
  if (frame.kind == FrameKind::eager) {
    frame.body = rest;
    frame.digest = static_cast<ToldDigest>(std::exchange(frame.size, rest.size()));
    return decode_eager(bytes).has_value();
  }
  wire::Reader in(rest);
  named_fields(in, frame);
  // Where nothing is kept the word is as short as without digests.
  if (frame.kind == FrameKind::written && !rest.empty()) in.fields(frame.digest);
  return in.done();
}

}  // namespace

void encode(wire::Writer& out, const Frame& frame) {
  if (names_message(frame.kind)) {
    out.put(header_of(frame));
    named_fields(out, frame);
    if (frame.kind == FrameKind::written && frame.digest != 0) out.fields(frame.digest);
    return;
  }
  out.put(std::array<std::uint8_t, start_bytes>{static_cast<std::uint8_t>(frame.kind),
                                                flags_of(frame)});
  unnamed_fields(out, frame);
}

std::optional<Frame> decode(std::span<const std::byte> bytes) {
  std::optional<Frame> frame(std::in_place);
  if (!decode_into(bytes, *frame)) frame.reset();
  return frame;
}

}  // namespace weft::message
