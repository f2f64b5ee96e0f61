// SPDX-License-Identifier: Apache-2.0
// Departure: no process leaves as long as another may need the messages that it keeps (paper 4,
// 4.4.1). Each process tells node 0 that its program is over; when all have, node 0 lets all go,
// and goes last. A process that may be another life of one that was done asks before its program
// begins: node 0 alone knows whether all programs are over.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "weft/ids.hpp"

namespace weft::message {

class Departure {
 public:
  Departure(NodeId self, std::uint32_t nodes) : self_(self), peers_(nodes) {}

  /// A process other than node 0 calls this before its program begins, to ask whether it may.
  void ask() { awaits_begin_ = true; }
  /// The program may begin or, if `decided`, all programs are over.
  bool answered() const { return !awaits_begin_; }
  /// This process's program is over.
  void finish() {
    finished_ = true;
    decide();
  }
  /// Node 0 calls this after all programs have ended, and may then notify the others.
  void let_go() { lets_go_ = true; }
  void on_done(NodeId from) {
    peers_[from.value()].done = true;
    decide();
  }
  void on_leave() {
    decided_ = true;
    awaits_begin_ = false;
  }
  void on_ask(NodeId from) {
    Peer& p = peers_[from.value()];
    p.asked = true;
    if (!decided_) p.done = false;  // an earlier life was
  }
  void on_begin() { awaits_begin_ = false; }
  void on_left(NodeId from) { leave(from); }
  /// The peer's connection ended: frames to it, or from it, may be lost. They are sent again.
  void on_down(NodeId peer) {
    Peer& p = peers_[peer.value()];
    if (!decided_) p.done = false;
    p.told_done = p.let_go = p.asked = false;
  }
  /// The peer does not come back.
  void on_gone(NodeId peer) {
    if (decided_) leave(peer);
  }

  // Which frames this process owes a peer that is up; the caller then says which of them it has put
  // into the queue.
  bool owes_done(NodeId to) const {
    return finished_ && !decided_ && !leads() && to == NodeId(0) && !peers_[0].told_done;
  }
  void told_done() { peers_[0].told_done = true; }
  bool owes_ask(NodeId to) const {
    return awaits_begin_ && !leads() && to == NodeId(0) && !peers_[0].asked;
  }
  void asked() { peers_[0].asked = true; }
  bool owes_begin(NodeId to) const { return leads() && !decided_ && peers_[to.value()].asked; }
  void told_begin(NodeId to) { peers_[to.value()].asked = false; }
  bool owes_leave(NodeId to) const {
    return leads() && decided_ && lets_go_ && !peers_[to.value()].let_go;
  }
  void told_leave(NodeId to) { peers_[to.value()].let_go = true; }
  bool owes_left(NodeId to) const {
    return !leads() && decided_ && to == NodeId(0) && !peers_[0].let_go;
  }
  void told_left() { peers_[0].let_go = true; }
  /// The frame `left` has left this host.
  void left_is_out() { leave(NodeId(0)); }

  /// All programs are over, as far as this process knows.
  bool decided() const { return decided_; }
  bool finished() const { return finished_; }
  /// This process may leave.
  bool over() const { return decided_ && (leads() ? left_ + 1 >= peers_.size() : peers_[0].left); }
  /// Returns whether this process waits for a frame of that one.
  bool waits_for(NodeId peer) const {
    if (peer == self_) return false;
    if (awaits_begin_) return peer == NodeId(0);
    if (!finished_) return false;
    if (!leads()) return peer == NodeId(0) && !over();
    return decided_ ? !peers_[peer.value()].left : !peers_[peer.value()].done;
  }

 private:
  struct Peer {
    bool done = false;       // at node 0: the peer said that its program is over
    bool told_done = false;  // of node 0: this process has said so to it
    bool asked = false;      // at node 0: the peer asked, and has no answer; of node 0: was asked
    bool let_go = false;     // was told that all may go; of node 0: that this process goes
    bool left = false;
  };

  bool leads() const { return self_ == NodeId(0); }
  void decide() {
    if (!leads() || !finished_ || decided_) return;
    for (std::uint32_t i = 1; i < peers_.size(); ++i) {
      if (!peers_[i].done) return;
    }
    decided_ = true;
  }
  void leave(NodeId peer) {
    if (std::exchange(peers_[peer.value()].left, true)) return;
    ++left_;
  }

  NodeId self_;
  std::vector<Peer> peers_;
  std::size_t left_ = 0;
  bool awaits_begin_ = false;
  bool finished_ = false;
  bool decided_ = false;
  bool lets_go_ = false;
};

}  // namespace weft::message
