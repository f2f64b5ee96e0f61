// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/frame.hpp"

#include <cstring>

#include "wire/codec.hpp"

namespace weft::ofi {
namespace {

// The fields of each payload in their order. `v` is a wire::Writer or a wire::Reader.
constexpr auto hello_begin = [](auto& v, auto& m) {
  v.fields(m.to, m.incarnation, m.nonce, m.receiver, m.attempt);
};
constexpr auto welcome_fields = [](auto& v, auto& m) {
  v.fields(m.to, m.incarnation, m.to_incarnation, m.nonce, m.to_nonce, m.attempt, m.window,
           m.max_message, m.proof);
};

}  // namespace

std::optional<Frame> decode_frame(std::span<const std::byte> bytes) {
  Frame frame;
  if (bytes.size() < sizeof frame.header) return std::nullopt;
  std::memcpy(&frame.header, bytes.data(), sizeof frame.header);
  frame.payload = bytes.subspan(sizeof frame.header);
  if (frame.header.version != kProtocolVersion) return std::nullopt;
  if (frame.header.kind < FrameKind::hello || frame.header.kind > FrameKind::goodbye) {
    return std::nullopt;
  }
  if (frame.header.size != frame.payload.size()) return std::nullopt;
  return frame;
}

void encode_header(const FrameHeader& header, std::span<std::byte> out) {
  WEFT_CHECK(out.size() >= sizeof header);
  std::memcpy(out.data(), &header, sizeof header);
}

std::optional<Hello> decode_hello(std::span<const std::byte> payload) {
  wire::Reader in(payload);
  Hello hello;
  hello_begin(in, hello);
  const auto length = in.get<std::uint16_t>();
  if (length > kMaxAddressText) return std::nullopt;
  const auto address = in.get_bytes(length);
  hello.address = {reinterpret_cast<const char*>(address.data()), address.size()};
  hello.proof = in.get<Proof>();
  if (!in.done()) return std::nullopt;
  return hello;
}

std::size_t encode(const Hello& hello, std::span<std::byte> out) {
  WEFT_CHECK(hello.address.size() <= kMaxAddressText);
  wire::Writer writer(out);
  hello_begin(writer, hello);
  writer.put(static_cast<std::uint16_t>(hello.address.size()));
  writer.put_bytes(std::as_bytes(std::span(hello.address)));
  writer.put(hello.proof);
  return writer.size();
}

std::optional<Welcome> decode_welcome(std::span<const std::byte> payload) {
  wire::Reader in(payload);
  Welcome welcome;
  welcome_fields(in, welcome);
  if (!in.done()) return std::nullopt;
  return welcome;
}

std::size_t encode(const Welcome& welcome, std::span<std::byte> out) {
  wire::Writer writer(out);
  welcome_fields(writer, welcome);
  return writer.size();
}

std::optional<RegionKey> decode_region_key(std::span<const std::byte> payload) {
  wire::Reader in(payload);
  const RegionKey key{in.get<std::uint64_t>()};
  if (!in.done()) return std::nullopt;
  return key;
}

std::optional<RegionGrant> decode_region_grant(std::span<const std::byte> payload) {
  wire::Reader in(payload);
  RegionGrant grant;
  in.fields(grant.key, grant.base, grant.length);
  if (!in.done()) return std::nullopt;
  return grant;
}

std::span<const std::byte> proven_part(std::span<const std::byte> payload) {
  WEFT_CHECK(payload.size() >= sizeof(Proof));
  return payload.first(payload.size() - sizeof(Proof));
}

}  // namespace weft::ofi
