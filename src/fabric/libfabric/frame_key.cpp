// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/frame_key.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace weft::ofi {
namespace {

using Context = std::array<std::uint32_t, 2>;

Context context_of(FrameKind kind, NodeId from) {
  return {static_cast<std::uint32_t>(kind), from.value()};
}

template <class Value>
std::span<const std::byte> bytes_of(const Value& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

FrameKey::FrameKey(std::string_view job_secret)
    : key_("weft libfabric fabric 1", bytes_of(job_secret), "") {
  const Proof digest = key_.prove({bytes_of(std::string_view("tag"))});
  tag_ = fmt::format("{:02x}{:02x}{:02x}{:02x}", std::to_integer<int>(digest[0]),
                     std::to_integer<int>(digest[1]), std::to_integer<int>(digest[2]),
                     std::to_integer<int>(digest[3]));
}

Proof FrameKey::prove(FrameKind kind, NodeId from, std::span<const std::byte> part) const {
  return key_.prove({bytes_of(context_of(kind, from)), part});
}

bool FrameKey::verify(FrameKind kind, NodeId from, std::span<const std::byte> part,
                      const Proof& proof) const {
  return key_.verify({bytes_of(context_of(kind, from)), part}, proof);
}

std::uint64_t FrameKey::token(NodeId from, NodeId to, const Nonce& from_nonce,
                              const Nonce& to_nonce) const {
  struct {
    Nonce from_nonce, to_nonce;
    std::uint32_t to;
  } const part = {from_nonce, to_nonce, to.value()};
  static_assert(sizeof part == 36);
  const Proof proof = prove(FrameKind::message, from, std::as_bytes(std::span(&part, 1)));
  std::uint64_t token = 0;
  std::memcpy(&token, proof.data(), sizeof token);
  return token != 0 ? token : 1;
}

Nonce fresh_nonce() {
  Nonce nonce;
  fill_with_random(nonce);
  return nonce;
}

std::uint64_t fresh_key() {
  std::uint64_t key = 0;
  fill_with_random(std::as_writable_bytes(std::span(&key, 1)));
  return key;
}

}  // namespace weft::ofi
