// SPDX-License-Identifier: Apache-2.0
// How two endpoints prove to each other that they belong to the same job, before either reads
// anything else. The connecting one is the initiator, the listening one the acceptor:
//
//   acceptor → initiator   greeting  a fresh nonce
//   initiator → acceptor   hello     own id, the id looked for, a fresh nonce; proof
//   acceptor → initiator   answer    verdict, own id, the session; proof
//
// A proof is the HMAC-SHA-256, under a key derived from the job's secret and id, of a label for the
// direction and of every byte exchanged so far: it fits neither another direction, nor another
// connection, nor other node ids, incarnations or versions. The acceptor tells a stranger nothing
// but a random number. All messages have a fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fabric/job_key/job_key.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"

namespace weft::tcp {

inline constexpr std::size_t kNonceSize = 32;
inline constexpr std::size_t kProofSize = sizeof(Proof);
inline constexpr std::size_t kGreetingSize = 8 + kNonceSize;
inline constexpr std::size_t kHelloSize = 8 + 16 + 32 + kNonceSize + kProofSize;
inline constexpr std::size_t kAnswerSize = 8 + 16 + 16 + kProofSize;
inline constexpr std::size_t kMinSecret = 16;

using GreetingBytes = std::array<std::byte, kGreetingSize>;
using HelloBytes = std::array<std::byte, kHelloSize>;
using AnswerBytes = std::array<std::byte, kAnswerSize>;

/// The key of a job's handshakes over TCP.
JobKey handshake_key(std::span<const std::byte> secret, std::string_view job_id);

/// The initiator's message. A session lasts from peer_up to peer_down; it may outlive connections.
struct Hello {
  NodeId from{};
  Incarnation incarnation{};
  NodeId to{};
  std::uint64_t session = 0;        ///< to be continued; 0 asks for a new one
  std::uint64_t ended_session = 0;  ///< the last one with this peer that the initiator gave up
  std::uint64_t process = 0;        ///< random; no other process has it, whatever its incarnation
  Incarnation known{};              ///< the highest life of the acceptor that the initiator knows
  std::uint64_t known_process = 0;  ///< of that life; 0: not known
};

enum class Verdict : std::uint32_t {
  accepted = 1,
  duplicate,      ///< there is another connection between the two
  stale,          ///< another life of the initiator is known, and not a lower one
  unknown_peer,   ///< the acceptor was not told (yet) about the initiator
  busy,           ///< too many connections at the moment
  not_resumable,  ///< the session to be continued is over
};

struct Answer {
  Verdict verdict = Verdict::busy;
  NodeId from{};
  Incarnation incarnation{};
  std::uint64_t session = 0;  ///< when accepted; when stale: see `KnownLife`
  std::uint64_t process = 0;  ///< as in Hello
};

/// The life of the initiator that a stale answer names in place of a session.
struct KnownLife {
  Incarnation incarnation{};
  bool is_connected = false;  ///< the acceptor has a session with it

  std::uint64_t to_session() const {
    return incarnation.value() | static_cast<std::uint64_t>(is_connected) << 32;
  }
  static KnownLife of_session(std::uint64_t session) {
    return {Incarnation(static_cast<std::uint32_t>(session)), (session >> 32 & 1) != 0};
  }
};

/// A random number that is no one else's; never 0.
std::uint64_t random_id();

GreetingBytes make_greeting();
HelloBytes encode(const JobKey& key, const GreetingBytes& greeting, const Hello& hello);
AnswerBytes encode(const JobKey& key, const GreetingBytes& greeting, const HelloBytes& hello,
                   const Answer& answer);

/// Errors: corrupt for bytes that are something else, unauthorised for a wrong proof.
Result<void> check_greeting(const GreetingBytes& greeting);
Result<Hello> decode_hello(const JobKey& key, const GreetingBytes& greeting,
                           const HelloBytes& bytes);
Result<Answer> decode_answer(const JobKey& key, const GreetingBytes& greeting,
                             const HelloBytes& hello, const AnswerBytes& bytes);

}  // namespace weft::tcp
