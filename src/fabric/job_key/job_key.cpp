// SPDX-License-Identifier: Apache-2.0
#include "fabric/job_key/job_key.hpp"

#include <sodium.h>

#include "base/check.hpp"

namespace weft {
namespace {

const unsigned char* raw(const void* data) {
  return static_cast<const unsigned char*>(data);
}

}  // namespace

JobKey::JobKey(std::string_view purpose, std::span<const std::byte> secret,
               std::string_view job_id) {
  WEFT_CHECK(sodium_init() >= 0, "libsodium found no source of randomness");
  const std::uint64_t job_id_size = job_id.size();
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, key_.size());
  crypto_generichash_update(&state, raw(purpose.data()), purpose.size());
  crypto_generichash_update(&state, raw(&job_id_size), sizeof job_id_size);
  crypto_generichash_update(&state, raw(job_id.data()), job_id.size());
  crypto_generichash_update(&state, raw(secret.data()), secret.size());
  crypto_generichash_final(&state, key_.data(), key_.size());
  sodium_memzero(&state, sizeof state);
}

JobKey::~JobKey() {
  sodium_memzero(key_.data(), key_.size());
}

Proof JobKey::prove(std::initializer_list<std::span<const std::byte>> parts) const {
  static_assert(crypto_auth_hmacsha256_BYTES == sizeof(Proof));
  static_assert(crypto_auth_hmacsha256_KEYBYTES == sizeof key_);
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, key_.data(), key_.size());
  for (const auto part : parts) {
    crypto_auth_hmacsha256_update(&state, raw(part.data()), part.size());
  }
  Proof proof;
  crypto_auth_hmacsha256_final(&state, reinterpret_cast<unsigned char*>(proof.data()));
  sodium_memzero(&state, sizeof state);
  return proof;
}

bool JobKey::verify(std::initializer_list<std::span<const std::byte>> parts,
                    std::span<const std::byte, 32> proof) const {
  return sodium_memcmp(prove(parts).data(), proof.data(), proof.size()) == 0;
}

void fill_with_random(std::span<std::byte> bytes) {
  randombytes_buf(bytes.data(), bytes.size());
}

}  // namespace weft
