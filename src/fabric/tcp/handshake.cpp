// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/handshake.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include "base/check.hpp"
#include "wire/codec.hpp"

namespace weft::tcp {
namespace {

constexpr std::uint32_t kMagic = 0x54464557;  // "WEFT"
constexpr std::uint16_t kVersion = 1;

enum class Kind : std::uint16_t { greeting = 1, hello = 2, answer = 3 };

constexpr std::string_view kHelloLabel = "weft tcp 1 hello";
constexpr std::string_view kAnswerLabel = "weft tcp 1 answer";

static_assert(crypto_auth_hmacsha256_BYTES == kProofSize);
static_assert(crypto_auth_hmacsha256_KEYBYTES == 32);

using Proof = std::array<unsigned char, kProofSize>;

const unsigned char* raw(const void* data) {
  return static_cast<const unsigned char*>(data);
}

void put_prefix(wire::Writer& out, Kind kind) {
  out.put(kMagic);
  out.put(kVersion);
  out.put(static_cast<std::uint16_t>(kind));
}

Result<void> check_prefix(wire::Reader& in, Kind kind) {
  if (in.get<std::uint32_t>() != kMagic) {
    return Error{ErrorCode::corrupt, "the other side does not speak weft"};
  }
  if (const auto version = in.get<std::uint16_t>(); version != kVersion) {
    return Error{ErrorCode::corrupt,
                 fmt::format("the other side speaks version {} of the protocol, this one {}: "
                             "install the same weft on all nodes",
                             version, kVersion)};
  }
  if (in.get<std::uint16_t>() != static_cast<std::uint16_t>(kind)) {
    return Error{ErrorCode::corrupt, "a message of the handshake out of turn"};
  }
  return {};
}

// HMAC of the label and the parts. Parts have fixed sizes, so their boundaries are unambiguous.
Proof prove(const JobKey& key, std::string_view label,
            std::initializer_list<std::span<const std::byte>> parts) {
  crypto_auth_hmacsha256_state state;
  crypto_auth_hmacsha256_init(&state, key.get(), 32);
  crypto_auth_hmacsha256_update(&state, raw(label.data()), label.size());
  for (const auto part : parts) {
    crypto_auth_hmacsha256_update(&state, raw(part.data()), part.size());
  }
  Proof proof;
  crypto_auth_hmacsha256_final(&state, proof.data());
  sodium_memzero(&state, sizeof state);
  return proof;
}

// The comparison takes the same time wherever the difference is.
Result<void> check_proof(const Proof& expected, std::span<const std::byte> given) {
  if (sodium_memcmp(expected.data(), given.data(), kProofSize) == 0) return {};
  return Error{ErrorCode::unauthorised,
               "the other side could not prove that it belongs to the job: give all nodes the "
               "same job secret and id"};
}

}  // namespace

JobKey::JobKey(std::span<const std::byte> secret, std::string_view job_id) {
  WEFT_CHECK(sodium_init() >= 0, "libsodium found no source of randomness");
  constexpr std::string_view kLabel = "weft tcp 1 job key";
  const std::uint64_t job_id_size = job_id.size();
  crypto_generichash_state state;
  crypto_generichash_init(&state, nullptr, 0, key_.size());
  crypto_generichash_update(&state, raw(kLabel.data()), kLabel.size());
  crypto_generichash_update(&state, raw(&job_id_size), sizeof job_id_size);
  crypto_generichash_update(&state, raw(job_id.data()), job_id.size());
  crypto_generichash_update(&state, raw(secret.data()), secret.size());
  crypto_generichash_final(&state, key_.data(), key_.size());
  sodium_memzero(&state, sizeof state);
}

JobKey::~JobKey() {
  sodium_memzero(key_.data(), key_.size());
}

std::uint64_t random_id() {
  std::uint64_t id = 0;
  while (id == 0) randombytes_buf(&id, sizeof id);
  return id;
}

GreetingBytes make_greeting() {
  GreetingBytes bytes;
  wire::Writer out(bytes);
  put_prefix(out, Kind::greeting);
  randombytes_buf(bytes.data() + out.size(), kNonceSize);
  return bytes;
}

HelloBytes encode(const JobKey& key, const GreetingBytes& greeting, const Hello& hello) {
  HelloBytes bytes;
  wire::Writer out(bytes);
  put_prefix(out, Kind::hello);
  out.put(hello.from.value());
  out.put(hello.incarnation.value());
  out.put(hello.to.value());
  out.put(std::uint32_t{0});
  out.put(hello.session);
  out.put(hello.ended_session);
  std::array<std::byte, kNonceSize> nonce;
  randombytes_buf(nonce.data(), nonce.size());
  out.put_bytes(nonce);
  const Proof proof = prove(key, kHelloLabel, {greeting, out.view()});
  out.put_bytes(std::as_bytes(std::span(proof)));
  return bytes;
}

AnswerBytes encode(const JobKey& key, const GreetingBytes& greeting, const HelloBytes& hello,
                   const Answer& answer) {
  AnswerBytes bytes;
  wire::Writer out(bytes);
  put_prefix(out, Kind::answer);
  out.put(static_cast<std::uint32_t>(answer.verdict));
  out.put(answer.from.value());
  out.put(answer.incarnation.value());
  out.put(std::uint32_t{0});
  out.put(answer.session);
  const Proof proof = prove(key, kAnswerLabel, {greeting, hello, out.view()});
  out.put_bytes(std::as_bytes(std::span(proof)));
  return bytes;
}

Result<void> check_greeting(const GreetingBytes& greeting) {
  wire::Reader in(greeting);
  return check_prefix(in, Kind::greeting);
}

Result<Hello> decode_hello(const JobKey& key, const GreetingBytes& greeting,
                           const HelloBytes& bytes) {
  wire::Reader in(bytes);
  if (auto checked = check_prefix(in, Kind::hello); !checked.ok()) return checked.error();
  const std::span<const std::byte> all(bytes);
  const Proof expected = prove(key, kHelloLabel, {greeting, all.first(kHelloSize - kProofSize)});
  if (auto checked = check_proof(expected, all.last(kProofSize)); !checked.ok()) {
    return checked.error();
  }
  Hello hello;
  hello.from = NodeId(in.get<std::uint32_t>());
  hello.incarnation = Incarnation(in.get<std::uint32_t>());
  hello.to = NodeId(in.get<std::uint32_t>());
  in.get<std::uint32_t>();
  hello.session = in.get<std::uint64_t>();
  hello.ended_session = in.get<std::uint64_t>();
  return hello;
}

Result<Answer> decode_answer(const JobKey& key, const GreetingBytes& greeting,
                             const HelloBytes& hello, const AnswerBytes& bytes) {
  wire::Reader in(bytes);
  if (auto checked = check_prefix(in, Kind::answer); !checked.ok()) return checked.error();
  const std::span<const std::byte> all(bytes);
  const Proof expected =
      prove(key, kAnswerLabel, {greeting, hello, all.first(kAnswerSize - kProofSize)});
  if (auto checked = check_proof(expected, all.last(kProofSize)); !checked.ok()) {
    return checked.error();
  }
  Answer answer;
  const auto verdict = in.get<std::uint32_t>();
  if (verdict < 1 || verdict > static_cast<std::uint32_t>(Verdict::not_resumable)) {
    return Error{ErrorCode::corrupt, fmt::format("verdict {} of the handshake", verdict)};
  }
  answer.verdict = static_cast<Verdict>(verdict);
  answer.from = NodeId(in.get<std::uint32_t>());
  answer.incarnation = Incarnation(in.get<std::uint32_t>());
  in.get<std::uint32_t>();
  answer.session = in.get<std::uint64_t>();
  if (answer.verdict == Verdict::accepted && answer.session == 0) {
    return Error{ErrorCode::corrupt, "accepted without a session"};
  }
  return answer;
}

}  // namespace weft::tcp
