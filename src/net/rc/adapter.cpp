// SPDX-License-Identifier: Apache-2.0
// The part of an adapter that requester and responder share: its timers, and packets' dispatch.
#include "net/rc/adapter.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace weft::net::rc {

AdapterCounters& AdapterCounters::operator+=(const AdapterCounters& more) {
  timeouts += more.timeouts;
  dammed += more.dammed;
  rnr_naks += more.rnr_naks;
  sequence_naks += more.sequence_naks;
  implied_naks += more.implied_naks;
  retransmissions += more.retransmissions;
  discarded += more.discarded;
  flooded += more.flooded;
  return *this;
}

Adapter::Adapter(const DeviceProfile& profile, const AdapterOptions& options,
                 std::uint32_t queue_pairs, Rng rng)
    : profile_(profile),
      options_(options),
      pages_(profile, options.paged, rng),
      queue_pairs_(queue_pairs) {}

std::uint32_t Adapter::add_queue_pair() {
  queue_pairs_.emplace_back();
  return static_cast<std::uint32_t>(queue_pairs_.size() - 1);
}

void Adapter::reset(std::uint32_t number) {
  QueuePair& qp = queue_pairs_[number];
  // Timers and entries of the engine that name it are told from later ones by these.
  QueuePair fresh;
  fresh.round = qp.round + 1;
  fresh.wait_number = qp.wait_number + 1;
  fresh.nak_number = qp.nak_number + 1;
  qp = std::move(fresh);
}

void Adapter::begin_at(std::uint32_t number, std::uint32_t sends, std::uint32_t expects) {
  QueuePair& qp = queue_pairs_[number];
  WEFT_CHECK(qp.requests.empty());
  qp.next_psn = sends & wire::psn_mask;
  qp.expected = expects & wire::psn_mask;
}

void Adapter::on_packet(Instant now, const Packet& packet, Outbox& out) {
  WEFT_CHECK(packet.queue_pair < queue_pairs_.size());
  if (wire::is_response(packet.opcode)) {
    on_response(now, packet.queue_pair, packet, out);
  } else {
    on_request(now, packet.queue_pair, packet, out);
  }
  on_told(now, out);
}

void Adapter::set_timer(Instant at, std::uint32_t queue_pair, TimerKind kind,
                        std::uint64_t number) {
  timers_.push({at, timer_order_++, queue_pair, kind, number});
}

Instant Adapter::next_deadline() const {
  const Instant timer = timers_.empty() ? Instant::never() : timers_.top().at;
  return std::min({timer, resend_at_, pages_.next_deadline()});
}

void Adapter::on_deadline(Instant now, Outbox& out) {
  pages_.on_deadline(now);
  on_told(now, out);
  while (!timers_.empty() && timers_.top().at <= now) {
    const Timer timer = timers_.top();
    timers_.pop();
    on_timer(now, timer, out);
  }
  if (resend_at_ <= now) resend_next(now, out);
  on_told(now, out);
}

void Adapter::on_timer(Instant now, const Timer& timer, Outbox& out) {
  QueuePair& qp = queue_pairs_[timer.queue_pair];
  switch (timer.kind) {
    case TimerKind::resume:
      if (qp.wait != Wait::again || qp.wait_number != timer.number) return;
      qp.wait = Wait::none;
      go_back(now, timer.queue_pair, std::exchange(qp.is_missed, false));
      pump(now, timer.queue_pair, out);
      return;
    case TimerKind::timeout:
      if (qp.timer_at != timer.at) return;
      qp.timer_at = Instant::never();
      if (qp.timeout_at == Instant::never()) return;
      if (qp.timeout_at <= now) return on_timeout(now, timer.queue_pair, out);
      // It was put off since: one entry of the queue per queue pair is enough.
      qp.timer_at = qp.timeout_at;
      set_timer(qp.timeout_at, timer.queue_pair, TimerKind::timeout, 0);
      return;
    case TimerKind::rnr_nak:
      if (qp.nak_number != timer.number) return;
      qp.is_nak_coming = false;
      ++counters_.rnr_naks;
      send_nak(timer.queue_pair, wire::rnr_nak_syndrome(options_.rnr_timer), out);
      return;
  }
}

}  // namespace weft::net::rc
