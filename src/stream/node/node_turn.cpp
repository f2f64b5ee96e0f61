// SPDX-License-Identifier: Apache-2.0
#include "stream/node/node_turn.hpp"

#include <array>

#include "base/log.hpp"

namespace weft::stream {

void NodeTurn::hang_up() {
  for (const NodeId peer : out_.hang_up.view()) {
    const auto known = find_peer_(peer);
    if (!known) continue;
    spdlog::warn("node {} takes nothing and does not answer: going on without it", peer.value());
    fabric_.remove_peer(peer);
    (void)fabric_.add_peer(peer, known->incarnation, known->address);
  }
  out_.hang_up.clear();
}

NodeTurn::Done NodeTurn::turn(Instant now) {
  std::array<Completion, 64> completions;
  Done done;
  done.completions = fabric_.poll(now, completions);
  for (std::size_t i = 0; i < done.completions; ++i) {
    const CompletionKind kind = completions[i].kind;
    if (kind == CompletionKind::sent || kind == CompletionKind::written ||
        kind == CompletionKind::failed) {
      --outstanding_;
    }
    if (kind == CompletionKind::received) ++done.messages;
    node_.on_completion(now, completions[i]);
  }
  const bool worked = node_.work(now, out_);
  done.posted = fabric_.post(out_.tx.view());
  outstanding_ += done.posted;
  out_.posted(done.posted);
  hang_up();
  done.moved = done.completions > 0 || worked || done.posted > 0;
  return done;
}

}  // namespace weft::stream
