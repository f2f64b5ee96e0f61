// SPDX-License-Identifier: Apache-2.0
#include "core/message/frames.hpp"

namespace weft::message {
namespace {

constexpr std::uint8_t urgent_bit = 1;
constexpr std::uint8_t asked_bit = 2;

bool names_message(FrameKind kind) {
  switch (kind) {
    case FrameKind::eager:
    case FrameKind::announce:
    case FrameKind::get:
    case FrameKind::written:
    case FrameKind::have:
    case FrameKind::gone:
    case FrameKind::too_long:
      return true;
    default:
      return false;
  }
}

bool known(FrameKind kind) {
  return kind >= FrameKind::hello && kind <= FrameKind::left;
}

bool known(MessageType type) {
  return type == MessageType::point_to_point || type == MessageType::collective;
}

void read_name(wire::Reader& in, Frame& frame) {
  frame.flow.tag = Tag(in.get<std::uint32_t>());
  frame.flow.generation = Generation(in.get<std::uint64_t>());
  frame.serial = in.get<std::uint64_t>();
  frame.size = in.get<std::uint64_t>();
}

}  // namespace

void encode(wire::Writer& out, const Frame& frame) {
  out.put(frame.kind);
  out.put(
      static_cast<std::uint8_t>((frame.urgent ? urgent_bit : 0) | (frame.asked ? asked_bit : 0)));
  out.put(names_message(frame.kind) ? frame.flow.type : MessageType{});
  out.put(std::uint8_t{0});
  if (names_message(frame.kind)) {
    out.put(frame.flow.tag.value());
    out.put(frame.flow.generation.value());
    out.put(frame.serial);
    out.put(frame.size);
    if (frame.kind == FrameKind::get) {
      out.put(frame.region.key);
      out.put(frame.region.base);
      out.put(frame.region.length);
    }
    return;
  }
  if (frame.kind == FrameKind::hello) out.put(frame.version);
  if (frame.kind == FrameKind::hello || frame.kind == FrameKind::credit) {
    out.put(frame.granted);
    out.put(frame.received);
  }
}

std::optional<Frame> decode(std::span<const std::byte> bytes) {
  wire::Reader in(bytes);
  Frame frame;
  frame.kind = static_cast<FrameKind>(in.get<std::uint8_t>());
  const auto flags = in.get<std::uint8_t>();
  frame.flow.type = static_cast<MessageType>(in.get<std::uint8_t>());
  const auto nothing = in.get<std::uint8_t>();
  if (!in.ok() || !known(frame.kind) || (flags & ~(urgent_bit | asked_bit)) != 0 || nothing != 0) {
    return std::nullopt;
  }
  frame.urgent = (flags & urgent_bit) != 0;
  frame.asked = (flags & asked_bit) != 0;
  if (names_message(frame.kind)) {
    if (!known(frame.flow.type)) return std::nullopt;
    read_name(in, frame);
    if (frame.kind == FrameKind::get) {
      frame.region.key = in.get<std::uint64_t>();
      frame.region.base = in.get<std::uint64_t>();
      frame.region.length = in.get<std::uint64_t>();
    }
    if (frame.kind == FrameKind::eager) {
      frame.body = in.get_bytes(in.left());
      if (frame.body.size() != frame.size) return std::nullopt;
    }
  } else {
    if (frame.kind == FrameKind::hello) frame.version = in.get<std::uint16_t>();
    if (frame.kind == FrameKind::hello || frame.kind == FrameKind::credit) {
      frame.granted = in.get<std::uint64_t>();
      frame.received = in.get<std::uint64_t>();
    }
  }
  if (!in.done()) return std::nullopt;
  return frame;
}

}  // namespace weft::message
