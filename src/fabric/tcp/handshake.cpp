// SPDX-License-Identifier: Apache-2.0
#include "fabric/tcp/handshake.hpp"

#include "base/make_error.hpp"
#include "wire/codec.hpp"

namespace weft::tcp {
namespace {

constexpr std::uint32_t kMagic = 0x54464557;  // "WEFT"
constexpr std::uint16_t kVersion = 2;

enum class Kind : std::uint16_t { greeting = 1, hello = 2, answer = 3 };

constexpr std::string_view kHelloLabel = "weft tcp 2 hello";
constexpr std::string_view kAnswerLabel = "weft tcp 2 answer";

std::span<const std::byte> bytes_of(std::string_view label) {
  return std::as_bytes(std::span(label));
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
    return corrupt(
        "the other side speaks version {} of the protocol, this one {}: install the "
        "same weft on all nodes",
        version, kVersion);
  }
  if (in.get<std::uint16_t>() != static_cast<std::uint16_t>(kind)) {
    return Error{ErrorCode::corrupt, "a message of the handshake out of turn"};
  }
  return {};
}

/// The fields in their order. `v` is a wire::Writer or a wire::Reader.
constexpr auto hello_fields = [](auto& v, auto& m) {
  v.fields(m.from, m.incarnation, m.to, m.known, m.session, m.ended_session, m.process,
           m.known_process);
};

Result<void> check_proof(bool is_right) {
  if (is_right) return {};
  return Error{ErrorCode::unauthorised,
               "the other side could not prove that it belongs to the job: give all nodes the "
               "same job secret and id"};
}

}  // namespace

JobKey handshake_key(std::span<const std::byte> secret, std::string_view job_id) {
  return JobKey("weft tcp 1 job key", secret, job_id);
}

std::uint64_t random_id() {
  std::uint64_t id = 0;
  while (id == 0) fill_with_random(std::as_writable_bytes(std::span(&id, 1)));
  return id;
}

GreetingBytes make_greeting() {
  GreetingBytes bytes;
  wire::Writer out(bytes);
  put_prefix(out, Kind::greeting);
  fill_with_random(std::span(bytes).last(kNonceSize));
  return bytes;
}

HelloBytes encode(const JobKey& key, const GreetingBytes& greeting, const Hello& hello) {
  HelloBytes bytes;
  wire::Writer out(bytes);
  put_prefix(out, Kind::hello);
  hello_fields(out, hello);
  std::array<std::byte, kNonceSize> nonce;
  fill_with_random(nonce);
  out.put_bytes(nonce);
  out.put_bytes(key.prove({bytes_of(kHelloLabel), greeting, out.view()}));
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
  out.put(answer.process);
  out.put_bytes(key.prove({bytes_of(kAnswerLabel), greeting, hello, out.view()}));
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
  const std::span<const std::byte, kHelloSize> all(bytes);
  const bool is_right =
      key.verify({bytes_of(kHelloLabel), greeting, all.first<kHelloSize - kProofSize>()},
                 all.last<kProofSize>());
  if (auto checked = check_proof(is_right); !checked.ok()) return checked.error();
  Hello hello;
  hello_fields(in, hello);
  return hello;
}

Result<Answer> decode_answer(const JobKey& key, const GreetingBytes& greeting,
                             const HelloBytes& hello, const AnswerBytes& bytes) {
  wire::Reader in(bytes);
  if (auto checked = check_prefix(in, Kind::answer); !checked.ok()) return checked.error();
  const std::span<const std::byte, kAnswerSize> all(bytes);
  const bool is_right =
      key.verify({bytes_of(kAnswerLabel), greeting, hello, all.first<kAnswerSize - kProofSize>()},
                 all.last<kProofSize>());
  if (auto checked = check_proof(is_right); !checked.ok()) return checked.error();
  Answer answer;
  const auto verdict = in.get<std::uint32_t>();
  if (verdict < 1 || verdict > static_cast<std::uint32_t>(Verdict::not_resumable)) {
    return corrupt("verdict {} of the handshake", verdict);
  }
  answer.verdict = static_cast<Verdict>(verdict);
  answer.from = NodeId(in.get<std::uint32_t>());
  answer.incarnation = Incarnation(in.get<std::uint32_t>());
  in.get<std::uint32_t>();
  answer.session = in.get<std::uint64_t>();
  answer.process = in.get<std::uint64_t>();
  if (answer.verdict == Verdict::accepted && answer.session == 0) {
    return Error{ErrorCode::corrupt, "accepted without a session"};
  }
  return answer;
}

}  // namespace weft::tcp
