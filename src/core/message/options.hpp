// SPDX-License-Identifier: Apache-2.0
// Limits and timeouts of a process's message layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/fabric.hpp"
#include "weft/ids.hpp"
#include "weft/time.hpp"

namespace weft::message {

class EarlyWatch;

struct MessageOptions {
  NodeId self{};
  std::uint32_t nodes = 1;
  Incarnation incarnation{};
  FabricLimits fabric;
  ServiceLevel level{};  ///< of messages between processes that have no level of their own
  /// By peer, the level of messages to it; empty: `level`.
  std::vector<ServiceLevel> levels;
  ServiceLevel level_to(NodeId peer) const { return levels.empty() ? level : levels[peer.value()]; }

  /// The sender sends bodies of at most so many bytes without a request. It announces longer ones,
  /// and writes them into the receiver's memory after the receiver's request.
  std::size_t eager_limit = 32 << 10;
  /// The bytes for unexpected messages, of all peers together (paper 4, 4.2.1). Each peer may use
  /// its share, at least room for two eager messages.
  ByteCount inbox = ByteCount::mib(16);
  /// Keep everything that was sent, so that a peer's next life can ask for it again (4.5.7).
  bool retain = false;
  /// A send of a longer message is over once that is copied, as with `retain`, though nobody keeps
  /// it.
  bool copies_long = false;
  /// A message for which the outbox has no room fails. Else it is sent, and its sender waits until
  /// receivers forget enough.
  bool fails_when_full = false;
  /// Names this run of the job, for the histories that processes store. Empty: they store none.
  std::string run;
  /// Operations with a peer that is gone for longer fail. Duration::max(): they wait for ever.
  Duration give_up_after = Duration::seconds(10);
  EarlyWatch* early_watch = nullptr;  ///< see MessageMachine::watch_early
};

}  // namespace weft::message
