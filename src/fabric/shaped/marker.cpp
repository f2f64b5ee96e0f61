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
  writer.fields(kMagic, kVersion, marker.kind, marker.bytes, marker.arrives);
}

std::optional<Marker> decode_marker(std::span<const std::byte> message) {
  wire::Reader reader(message);
  std::uint16_t magic = 0;
  std::uint8_t version = 0;
  Marker marker;
  reader.fields(magic, version, marker.kind, marker.bytes, marker.arrives);
  if (!reader.ok() || magic != kMagic || version != kVersion) return std::nullopt;
  if (marker.bytes > Marker::max_bytes) return std::nullopt;
  // Nothing follows a filler.
  if (marker.kind == Marker::Kind::filler && !reader.done()) return std::nullopt;
  if (marker.kind > Marker::Kind::message) return std::nullopt;
  return marker;
}

}  // namespace weft::shaped
