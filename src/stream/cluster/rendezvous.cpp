// SPDX-License-Identifier: Apache-2.0
#include "stream/cluster/rendezvous.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/log.hpp"

namespace weft::stream {
namespace {

constexpr std::uint32_t clock_questions = 16;
/// Pieces of a report that are under way at once: the rest of the traffic is not to wait for them.
constexpr std::size_t pieces_under_way = 32;

}  // namespace

Rendezvous::Rendezvous(std::unique_ptr<Fabric> fabric, NodeId self, std::uint32_t nodes,
                       RendezvousHello hello)
    : fabric_(std::move(fabric)),
      self_(self),
      hello_(std::move(hello)),
      peers_(nodes),
      scratch_(largest_rendezvous_message) {
  WEFT_CHECK(fabric_->limits().max_message >= largest_rendezvous_message);
}

void Rendezvous::turn(Instant now) {
  std::array<Completion, 64> completions;
  std::size_t n = 0;
  do {
    n = fabric_->poll(now, completions);
    for (std::size_t i = 0; i < n; ++i) {
      const Completion& c = completions[i];
      const std::uint32_t node = c.peer.value();
      if (c.kind == CompletionKind::sent || c.kind == CompletionKind::failed) --outstanding_;
      if (node >= peers_.size()) continue;
      if (c.kind == CompletionKind::peer_up) on_up(now, node, c.incarnation);
      if (c.kind == CompletionKind::received) on_message(now, node, c.data);
      if (c.kind != CompletionKind::peer_down) continue;
      peers_[node].known.up = false;
      peers_[node].known.heard = now;
      peers_[node].owes = 0;
    }
  } while (n == completions.size());
  pay(now);
}

void Rendezvous::on_up(Instant now, std::uint32_t node, Incarnation incarnation) {
  PeerState& peer = peers_[node];
  if (peer.known.incarnation != incarnation) {
    peer.known.hello.reset();
    peer.known.report.reset();
    peer.known.progress = {};
  }
  peer.known.up = true;
  peer.known.incarnation = incarnation;
  peer.known.heard = now;
  peer.incoming.clear();
  peer.owes = owes_hello;
  if (stopping_) peer.owes |= owes_stop;
  if (node != 0) return;
  // Earlier messages to node 0 may not have arrived.
  report_sent_ = 0;
  if (questions_left_ > 0) peer.owes |= owes_question;
}

void Rendezvous::on_message(Instant now, std::uint32_t node, std::span<const std::byte> message) {
  PeerState& peer = peers_[node];
  peer.known.heard = now;
  bool understood = true;
  switch (rendezvous_kind(message).value_or(RendezvousKind{})) {
    case RendezvousKind::hello:
      understood = static_cast<bool>(peer.known.hello = decode_rendezvous_hello(message));
      peer.news = understood;
      break;
    case RendezvousKind::progress:
      if (const auto progress = decode_rendezvous_progress(message)) {
        peer.known.progress = *progress;
      } else {
        understood = false;
      }
      break;
    case RendezvousKind::report:
      if (const auto piece = decode_report_piece(message); piece && self_.value() == 0) {
        on_report_piece(peer, *piece);
      } else {
        understood = false;
      }
      break;
    case RendezvousKind::stop:
      stop_told_ = true;
      break;
    case RendezvousKind::leave:
      leave_told_ = leave_told_ || node == 0;
      break;
    case RendezvousKind::time_request:
      if (const auto asked = decode_time_request(message)) {
        peer.question = *asked;
        peer.owes |= owes_answer;
      }
      break;
    case RendezvousKind::time_reply:
      if (const auto reply = decode_time_reply(message); reply && node == 0) {
        on_time_reply(now, *reply);
      }
      break;
    default:
      understood = false;
  }
  if (!understood) spdlog::warn("node {} said something that cannot be understood", node);
}

void Rendezvous::on_report_piece(PeerState& peer, const ReportPiece& piece) {
  if (piece.offset == 0) {
    peer.incoming.clear();
    peer.total = piece.total;
  }
  if (piece.offset != peer.incoming.size() || piece.total != peer.total) return;
  peer.incoming.append(reinterpret_cast<const char*>(piece.bytes.data()), piece.bytes.size());
  if (peer.incoming.size() == peer.total) peer.known.report = std::exchange(peer.incoming, {});
}

void Rendezvous::on_time_reply(Instant now, const TimeReply& reply) {
  const Instant asked = as_own(reply.asked);
  const Duration took = now - asked;
  if (questions_left_ == 0 || took < Duration{}) return;
  if (took < quickest_) {
    quickest_ = took;
    offset_ = ClockOffset(asked + took / 2, reply.answered);
  }
  if (--questions_left_ > 0) peers_[0].owes |= owes_question;
}

std::uint32_t Rendezvous::heard() const {
  return static_cast<std::uint32_t>(std::count_if(
      peers_.begin(), peers_.end(), [](const PeerState& p) { return p.known.ever_heard(); }));
}

void Rendezvous::take_news(const std::function<void(NodeId, const Peer&)>& with) {
  for (std::uint32_t node = 0; node < peers_.size(); ++node) {
    if (std::exchange(peers_[node].news, false)) with(NodeId(node), peers_[node].known);
  }
}

void Rendezvous::owe_all(std::uint8_t what) {
  for (PeerState& peer : peers_) {
    if (peer.known.up) peer.owes |= what;
  }
}

void Rendezvous::set_begun() {
  hello_.begun = true;
  owe_progress();
}

void Rendezvous::tell_progress(const StreamProgress& progress) {
  progress_ = progress;
  owe_progress();
}

void Rendezvous::owe_progress() {
  if (self_.value() == 0) {
    owe_all(owes_progress);
  } else if (peers_[0].known.up) {
    peers_[0].owes |= owes_progress;
  }
}

void Rendezvous::tell_stop() {
  if (std::exchange(stopping_, true)) return;
  owe_all(owes_stop);
}

void Rendezvous::tell_leave() {
  owe_all(owes_leave);
}

void Rendezvous::measure_clock(Instant now) {
  if (questions_left_ > 0 || offset_) return;
  questions_left_ = clock_questions;
  if (peers_[0].known.up) peers_[0].owes |= owes_question;
  pay(now);
}

std::optional<ClockOffset<LeaderClock>> Rendezvous::clock_offset() const {
  return questions_left_ > 0 ? std::nullopt : offset_;
}

void Rendezvous::send_report(std::string report) {
  WEFT_CHECK(report.size() <= largest_report, "a report of {} bytes", report.size());
  report_ = std::move(report);
  report_sent_ = 0;
}

bool Rendezvous::flushed() const {
  const bool owing = std::any_of(peers_.begin(), peers_.end(),
                                 [](const PeerState& p) { return p.known.up && p.owes != 0; });
  const bool reporting = !report_.empty() && !report_left() && peers_[0].known.up;
  return !owing && !reporting && outstanding_ == 0;
}

void Rendezvous::pay(Instant now) {
  for (std::uint32_t node = 0; node < peers_.size(); ++node) {
    PeerState& peer = peers_[node];
    if (peer.owes == 0 || !peer.known.up) continue;
    // The hello goes first: the rest refers to it.
    for (const std::uint8_t what :
         {owes_hello, owes_question, owes_answer, owes_progress, owes_stop, owes_leave}) {
      if ((peer.owes & what) == 0) continue;
      if (!pay_one(now, node, what)) return;
      peer.owes = static_cast<std::uint8_t>(peer.owes & ~what);
    }
  }
  send_report_pieces();
}

bool Rendezvous::pay_one(Instant now, std::uint32_t node, std::uint8_t what) {
  wire::Writer out(scratch_);
  switch (what) {
    case owes_hello:
      encode(hello_, out);
      break;
    case owes_progress:
      encode(RendezvousProgress{.begun = hello_.begun, .figures = progress_}, out);
      break;
    case owes_stop:
      encode(RendezvousKind::stop, out);
      break;
    case owes_leave:
      encode(RendezvousKind::leave, out);
      break;
    case owes_question:
      encode_time_request(own_as<AskingClock>(now), out);
      break;
    default:
      encode(TimeReply{.asked = peers_[node].question, .answered = own_as<LeaderClock>(now)}, out);
      break;
  }
  return post(node, out.view());
}

void Rendezvous::send_report_pieces() {
  if (self_.value() == 0 || !peers_[0].known.up) return;
  while (report_sent_ < report_.size() && outstanding_ < pieces_under_way) {
    const auto rest = std::as_bytes(std::span(report_)).subspan(report_sent_);
    const auto bytes = rest.first(std::min(rest.size(), report_piece));
    wire::Writer out(scratch_);
    encode(ReportPiece{.total = report_.size(), .offset = report_sent_, .bytes = bytes}, out);
    if (!post(0, out.view())) return;
    report_sent_ += bytes.size();
  }
}

bool Rendezvous::post(std::uint32_t node, std::span<const std::byte> message) {
  const TxOp op{.kind = OpKind::send, .peer = NodeId(node), .segments = {message, {}}};
  if (fabric_->post(std::span(&op, 1)) == 0) return false;
  ++outstanding_;
  return true;
}

}  // namespace weft::stream
