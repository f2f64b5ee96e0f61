// SPDX-License-Identifier: Apache-2.0
#include "fabric/shaped/marker.hpp"

#include "wire/codec.hpp"

namespace weft::shaped {
namespace {

constexpr std::uint16_t kMagic = 0x5753;  // "SW", shaped weft
constexpr std::uint8_t kVersion = 1;

}  // namespace

void encode(const Marker& marker, std::span<std::byte, Marker::size> out) {
  wire::Writer writer(out);
  writer.put(kMagic);
  writer.put(kVersion);
  writer.put(static_cast<std::uint8_t>(marker.kind));
  writer.put(marker.bytes);
  writer.put(marker.arrives.ticks());
}

std::optional<Marker> decode_marker(std::span<const std::byte> message) {
  wire::Reader reader(message);
  const auto magic = reader.get<std::uint16_t>();
  const auto version = reader.get<std::uint8_t>();
  const auto kind = reader.get<std::uint8_t>();
  const auto bytes = reader.get<std::uint32_t>();
  const auto arrives = reader.get<std::int64_t>();
  if (!reader.ok() || magic != kMagic || version != kVersion) return std::nullopt;
  if (bytes > Marker::max_bytes) return std::nullopt;
  switch (static_cast<Marker::Kind>(kind)) {
    case Marker::Kind::filler:
      if (!reader.done()) return std::nullopt;
      break;
    case Marker::Kind::message:
      break;
    default:
      return std::nullopt;
  }
  return Marker{static_cast<Marker::Kind>(kind), bytes, HostInstant(arrives)};
}

}  // namespace weft::shaped
