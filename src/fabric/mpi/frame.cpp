// SPDX-License-Identifier: Apache-2.0
#include "fabric/mpi/frame.hpp"

#include "wire/codec.hpp"

namespace weft::mpi {

std::size_t encode(const Frame& frame, std::span<std::byte> out) {
  wire::Writer writer(out);
  writer.put(frame.kind);
  if (frame.kind == FrameKind::hello) {
    writer.fields(frame_version, frame.incarnation);
  }
  if (frame.kind == FrameKind::write) {
    writer.fields(frame.key, frame.offset, frame.sizes);
  }
  return writer.size();
}

std::optional<Frame> decode(std::span<const std::byte> bytes) {
  wire::Reader reader(bytes);
  Frame frame{.kind = reader.get<FrameKind>()};
  switch (frame.kind) {
    case FrameKind::hello:
      if (reader.get<std::uint32_t>() != frame_version) return std::nullopt;
      reader.fields(frame.incarnation);
      break;
    case FrameKind::bye:
    case FrameKind::leave:
      break;
    case FrameKind::message:
      frame.body = reader.get_bytes(reader.left());
      break;
    case FrameKind::write:
      reader.fields(frame.key, frame.offset, frame.sizes);
      break;
    default:
      return std::nullopt;
  }
  if (!reader.done()) return std::nullopt;
  return frame;
}

}  // namespace weft::mpi
