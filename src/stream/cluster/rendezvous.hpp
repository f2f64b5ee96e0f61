// SPDX-License-Identifier: Apache-2.0
// Rendezvous: how the processes of a cluster find each other and part. Only its addresses have to
// be known in advance; over it nodes exchange the address of the stream's fabric, of any kind, and
// at the end their reports. A node that comes (again) announces itself to all others by connecting
// to them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stream/cluster/rendezvous_messages.hpp"
#include "weft/fabric.hpp"
#include "weft/ids.hpp"
#include "weft/result.hpp"
#include "weft/stream.hpp"
#include "weft/time.hpp"

namespace weft::stream {

/// One node's end. State and messages; the caller turns it. One thread.
///
/// Messages owed to a peer are kept as flags and sent when the fabric takes them, so that memory is
/// bounded, and owed again when a connection broke before they were surely sent.
class Rendezvous {
 public:
  /// The state of another node.
  struct Peer {
    bool up = false;
    Incarnation incarnation{};             ///< of its last life seen
    std::optional<RendezvousHello> hello;  ///< of that life
    Instant heard{};                       ///< last message or coming or going
    RendezvousProgress progress;
    std::optional<std::string> report;  ///< whole; at node 0 only
    bool ever_heard() const { return hello.has_value(); }
  };

  /// `fabric`: an endpoint of node `self`, of any fabric, that knows all other nodes of the job as
  /// its peers. `hello`: this node's description for them.
  Rendezvous(std::unique_ptr<Fabric> fabric, NodeId self, std::uint32_t nodes,
             RendezvousHello hello);

  /// Receives and sends messages. Call it often; never blocks.
  void turn(Instant now);
  /// For sleeping; see Fabric::prepare_wait.
  Fabric& fabric() { return *fabric_; }

  const Peer& peer(NodeId node) const { return peers_[node.value()].known; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(peers_.size()); }
  /// Returns how many other nodes have said hello, in any life.
  std::uint32_t heard() const;
  /// Calls `with` for each node whose hello came since the last time: it can be reached now at
  /// `hello->address`.
  void take_news(const std::function<void(NodeId, const Peer&)>& with);

  /// From now on hellos and progress say that the stream has begun.
  void set_begun();
  /// Tells node 0 the figures of this node; node 0 tells all others that it lives.
  void tell_progress(const StreamProgress& progress);
  /// Tells all nodes, also later ones, to end the stream.
  void tell_stop();
  /// Returns whether another node has told this one to end the stream.
  bool stop_told() const { return stop_told_; }

  /// Starts to measure how far node 0's clock is ahead of this one: a few questions and answers,
  /// of which the quickest counts. Good to half of the time that one takes.
  void measure_clock(Instant now);
  /// Node 0's clock minus this one, when it has been measured.
  std::optional<ClockOffset<LeaderClock>> clock_offset() const;

  /// Sends this node's report to node 0, again to each life of it. At most `largest_report` bytes.
  void send_report(std::string report);
  /// The report has left, as far as this node can tell.
  bool report_left() const { return !report_.empty() && report_sent_ >= report_.size(); }
  /// Node 0: the job is over, all may go.
  void tell_leave();
  bool leave_told() const { return leave_told_; }
  /// All that was to be sent to peers that are up has left.
  bool flushed() const;

 private:
  struct PeerState {
    Peer known;
    std::uint8_t owes = 0;
    bool news = false;
    InstantOf<AskingClock> question{};  // to answer
    std::string incoming;               // of a report
    std::uint64_t total = 0;
  };
  enum : std::uint8_t {
    owes_hello = 1,
    owes_progress = 2,
    owes_stop = 4,
    owes_leave = 8,
    owes_question = 16,
    owes_answer = 32,
  };

  void on_up(Instant now, std::uint32_t node, Incarnation incarnation);
  void on_message(Instant now, std::uint32_t node, std::span<const std::byte> message);
  void on_report_piece(PeerState& peer, const ReportPiece& piece);
  void on_time_reply(Instant now, const TimeReply& reply);
  void owe_all(std::uint8_t what);
  void owe_progress();
  /// Sends the owed messages; stops when the fabric takes no more.
  void pay(Instant now);
  bool pay_one(Instant now, std::uint32_t node, std::uint8_t what);
  void send_report_pieces();
  bool post(std::uint32_t node, std::span<const std::byte> message);

  std::unique_ptr<Fabric> fabric_;
  NodeId self_;
  RendezvousHello hello_;
  std::vector<PeerState> peers_;
  StreamProgress progress_;
  std::vector<std::byte> scratch_;
  std::size_t outstanding_ = 0;

  bool stopping_ = false;
  bool stop_told_ = false;
  bool leave_told_ = false;

  std::string report_;
  std::size_t report_sent_ = 0;

  std::uint32_t questions_left_ = 0;
  std::optional<ClockOffset<LeaderClock>> offset_;
  Duration quickest_ = Duration::max();
};

}  // namespace weft::stream
