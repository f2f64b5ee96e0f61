// SPDX-License-Identifier: Apache-2.0
#include "fabric/libfabric/job_key.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <cstring>

#include "base/check.hpp"

namespace weft::ofi {
namespace {

constexpr std::string_view kPurpose = "weft libfabric fabric 1";

const unsigned char* unsigned_bytes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

JobKey::JobKey(std::string_view job_secret) {
  WEFT_CHECK(sodium_init() >= 0, "libsodium found no source of randomness");
  const auto secret = std::as_bytes(std::span(job_secret));
  crypto_generichash(key_.data(), key_.size(), unsigned_bytes(secret), secret.size(),
                     reinterpret_cast<const unsigned char*>(kPurpose.data()), kPurpose.size());
  std::array<unsigned char, 16> digest{};
  constexpr std::string_view label = "tag";
  crypto_generichash(digest.data(), digest.size(),
                     reinterpret_cast<const unsigned char*>(label.data()), label.size(),
                     key_.data(), key_.size());
  tag_ = fmt::format("{:02x}{:02x}{:02x}{:02x}", digest[0], digest[1], digest[2], digest[3]);
}

Proof JobKey::prove(FrameKind kind, NodeId from, std::span<const std::byte> part) const {
  static_assert(sizeof(Proof) == crypto_auth_hmacsha256_BYTES);
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, key_.data(), key_.size());
  const std::array<std::uint32_t, 2> context = {static_cast<std::uint32_t>(kind), from.value()};
  crypto_auth_hmacsha256_update(&state, unsigned_bytes(std::as_bytes(std::span(context))),
                                sizeof context);
  crypto_auth_hmacsha256_update(&state, unsigned_bytes(part), part.size());
  Proof proof;
  crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(proof.data()));
  return proof;
}

bool JobKey::verify(FrameKind kind, NodeId from, std::span<const std::byte> part,
                    const Proof& proof) const {
  const Proof expected = prove(kind, from, part);
  return sodium_memcmp(expected.data(), proof.data(), proof.size()) == 0;
}

std::uint64_t JobKey::token(NodeId from, NodeId to, const Nonce& from_nonce,
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
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

std::uint64_t fresh_key() {
  std::uint64_t key = 0;
  randombytes_buf(&key, sizeof key);
  return key;
}

}  // namespace weft::ofi
