// SPDX-License-Identifier: Apache-2.0
// An acceptor's decision about a peer that has proved its identity. Pure decisions: both sides of a
// pair come to one and the same connection however their attempts cross.
#pragma once

#include <cstdint>

#include "fabric/tcp/handshake.hpp"

namespace weft::tcp {

/// This endpoint's view of the peer that says hello.
struct AdmissionView {
  NodeId self{};
  bool is_known = false;        ///< added and not removed
  Incarnation incarnation{};    ///< the highest known
  std::uint64_t process = 0;    ///< of that life; 0: not known
  std::uint64_t session = 0;    ///< current; 0 when there is none
  bool has_connection = false;  ///< that carries the session
  bool is_draining = false;     ///< and is about to be closed in agreement
  bool is_attempting = false;   ///< an attempt of our own is under way
};

enum class Admission : std::uint8_t {
  begin,   ///< accept with a new session; a current one, a connection and an attempt of ours end
  resume,  ///< accept; the session goes on
  defer,   ///< decide again when our attempt or the draining connection is gone
  refuse,  ///< with `Decision::verdict`
};

struct Decision {
  Admission admission = Admission::refuse;
  Verdict verdict = Verdict::busy;
};

/// When both sides attempt at the same time, the attempt of the lower node id wins. Its acceptor
/// gives up its own; the other side holds the loser's until the winner has arrived, so that a pair
/// of which only one direction works is connected, too.
Decision decide(const AdmissionView& view, const Hello& hello);

}  // namespace weft::tcp
