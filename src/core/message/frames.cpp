// SPDX-License-Identifier: Apache-2.0
#include "core/message/frames.hpp"

#include <cstring>

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

/// What all frames begin with, and the name of those that have one: put and taken as a whole, since
/// each message pays for it.
struct Start {
  FrameKind kind{};
  std::uint8_t flags = 0;
  MessageType type{};
  std::uint8_t nothing = 0;
};
struct Name {
  std::uint32_t tag = 0;
  std::uint32_t generation[2] = {};  // low, high: no gap in front of it
  std::uint32_t serial[2] = {};
  std::uint32_t size[2] = {};
};
static_assert(sizeof(Start) + sizeof(Name) == header_bytes);

void set(std::uint32_t (&words)[2], std::uint64_t value) {
  std::memcpy(words, &value, sizeof value);
}
std::uint64_t get(const std::uint32_t (&words)[2]) {
  std::uint64_t value = 0;
  std::memcpy(&value, words, sizeof value);
  return value;
}

}  // namespace

void encode(wire::Writer& out, const Frame& frame) {
  const bool named = names_message(frame.kind);
  out.put(Start{.kind = frame.kind,
                .flags = static_cast<std::uint8_t>((frame.urgent ? urgent_bit : 0) |
                                                   (frame.asked ? asked_bit : 0)),
                .type = named ? frame.flow.type : MessageType{}});
  if (named) {
    Name name{.tag = frame.flow.tag.value()};
    set(name.generation, frame.flow.generation.value());
    set(name.serial, frame.serial);
    set(name.size, frame.size);
    out.put(name);
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
  const auto start = in.get<Start>();
  if (!in.ok() || !known(start.kind) || (start.flags & ~(urgent_bit | asked_bit)) != 0 ||
      start.nothing != 0) {
    return std::nullopt;
  }
  Frame frame;
  frame.kind = start.kind;
  frame.urgent = (start.flags & urgent_bit) != 0;
  frame.asked = (start.flags & asked_bit) != 0;
  if (names_message(frame.kind)) {
    if (!known(start.type)) return std::nullopt;
    const auto name = in.get<Name>();
    frame.flow = {
        .generation = Generation(get(name.generation)), .tag = Tag(name.tag), .type = start.type};
    frame.serial = get(name.serial);
    frame.size = get(name.size);
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
