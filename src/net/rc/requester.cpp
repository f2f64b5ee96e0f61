// SPDX-License-Identifier: Apache-2.0
// The requester of a reliable connection: sends requests in order, keeps them until they are
// answered, and sends them again when they are not.
#include <algorithm>

#include "base/check.hpp"
#include "net/rc/adapter.hpp"

namespace weft::net::rc {
namespace {

using wire::Opcode;

Opcode request_opcode(Verb verb, std::uint32_t i, std::uint32_t count) {
  if (verb == Verb::read) return Opcode::read_request;
  const bool is_write = verb == Verb::write;
  if (count == 1) return is_write ? Opcode::write_only : Opcode::send_only;
  if (i == 0) return is_write ? Opcode::write_first : Opcode::send_first;
  if (i + 1 == count) return is_write ? Opcode::write_last : Opcode::send_last;
  return is_write ? Opcode::write_middle : Opcode::send_middle;
}

bool begins_response(Opcode opcode) {
  return opcode == Opcode::read_response_first || opcode == Opcode::read_response_only;
}

}  // namespace

void Adapter::post(Instant now, std::uint32_t number, const WorkRequest& work, Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  if (qp.failed) return out.completions.push_back({work.id, number, false});
  WEFT_CHECK(work.bytes > 0 || work.verb == Verb::write);
  Request request;
  request.work = work;
  request.serial = next_serial_++;
  request.psn = qp.next_psn;
  request.packets = std::max(1U, (work.bytes + options_.mtu - 1) / options_.mtu);
  qp.next_psn = (qp.next_psn + request.packets) & wire::psn_mask;
  const bool is_next = qp.sent == qp.requests.size();
  qp.requests.push_back(request);
  const bool waits = qp.wait == Wait::again && now >= qp.stopped_from;
  if (waits && is_next && profile_.loses_posts_while_waiting) {
    return send_new(now, number, qp.requests.back(), true, out);
  }
  pump(now, number, out);
}

bool Adapter::may_send(const QueuePair& qp) const {
  if (qp.failed || qp.sent == qp.requests.size() || qp.resending > 0) return false;
  if (qp.wait == Wait::local_page) return false;
  if (qp.wait == Wait::again) {
    // Requests posted before the adapter has stopped the queue pair still go out.
    return profile_.loses_posts_while_waiting;
  }
  return true;
}

void Adapter::pump(Instant now, std::uint32_t number, Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  while (may_send(qp)) {
    Request& next = qp.requests[qp.sent];
    if (next.work.verb == Verb::read && qp.reads >= profile_.most_reads) return;
    if (qp.wait == Wait::again && now >= qp.stopped_from) return;
    if (!wait_for_local_pages(now, number, next)) return;
    send_new(now, number, next, false, out);
  }
}

void Adapter::send_new(Instant now, std::uint32_t number, Request& request, bool lost,
                       Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  request.lost = lost;
  ++qp.sent;
  if (request.work.verb == Verb::read && !lost) ++qp.reads;
  emit(now, number, request, out);
}

/// Data that is sent is read from pages of this host: the queue pair stops until they are there.
bool Adapter::wait_for_local_pages(Instant now, std::uint32_t number, Request& request) {
  if (!options_.paged || request.work.pinned || request.work.verb == Verb::read) return true;
  if (request.work.bytes == 0) return true;
  const std::uint64_t last = (request.work.local + request.work.bytes - 1) / page_bytes;
  for (std::uint64_t page = request.work.local / page_bytes; page <= last; ++page) {
    if (pages_.is_resident(page)) continue;
    QueuePair& qp = queue_pairs_[number];
    qp.wait = Wait::local_page;
    request.ticket = next_ticket_++;
    pages_.fault(now, page, {number, request.ticket});
    return false;
  }
  return true;
}

void Adapter::emit(Instant now, std::uint32_t number, Request& request, Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  const WorkRequest& work = request.work;
  const bool is_read = work.verb == Verb::read;
  const std::uint32_t end = is_read ? request.done + 1 : request.packets;
  for (std::uint32_t i = request.done; i < end; ++i) {
    const std::uint32_t from = i * options_.mtu, left = work.bytes - from;
    const Packet packet{.opcode = request_opcode(work.verb, i, request.packets),
                        .wants_ack = is_read || i + 1 == request.packets,
                        .queue_pair = number,
                        .psn = (request.psn + i) & wire::psn_mask,
                        .length = is_read ? left : work.bytes,
                        .payload = is_read ? 0 : std::min(left, options_.mtu),
                        .address = work.remote + from,
                        .lost_at_port = request.lost};
    // A retransmitted packet equals its first copy. A message that goes on in the middle does so
    // with its middle: the responder has taken the beginning, and expects nothing else.
    if (request.was_seen) ++counters_.retransmissions;
    out.packets.push_back(packet);
  }
  request.was_seen = true;
  if (qp.wait == Wait::none && qp.timeout_at == Instant::never()) start_timer(now, number);
}

void Adapter::start_timer(Instant now, std::uint32_t number) {
  QueuePair& qp = queue_pairs_[number];
  const Duration wait = detected_timeout(profile_, options_.ack_timeout, qp.retries);
  if (wait == Duration() || qp.sent == 0) {
    qp.timeout_at = Instant::never();
    return;
  }
  qp.timeout_at = now + wait;
  if (qp.timer_at <= qp.timeout_at) return;
  qp.timer_at = qp.timeout_at;
  set_timer(qp.timeout_at, number, TimerKind::timeout, 0);
}

void Adapter::on_response(Instant now, std::uint32_t number, const Packet& packet, Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  if (qp.failed || qp.sent == 0) return;
  if (qp.wait == Wait::again) {
    // The sequence NAK is remembered: the responder sends it only once.
    if (wire::Aeth{packet.syndrome, 0}.is_sequence_nak()) qp.is_missed = true;
    if (!wire::is_read_response(packet.opcode)) return;
    ++counters_.discarded;
    // The engine hears of a response, not of each of its packets.
    if (begins_response(packet.opcode)) pages_.discarded();
    return;
  }
  if (wire::is_read_response(packet.opcode)) return on_read_response(now, number, packet, out);
  const wire::Aeth aeth{packet.syndrome, 0};
  if (aeth.is_rnr_nak()) return on_rnr_nak(now, number, packet, out);
  if (aeth.is_sequence_nak()) {
    acknowledge_before(now, number, packet.psn, out);
    go_back(now, number, true);
    return;
  }
  acknowledge_before(now, number, (packet.psn + 1) & wire::psn_mask, out);
  pump(now, number, out);
}

/// Everything before `psn` has arrived. Data that a READ asked for may be missing all the same.
void Adapter::acknowledge_before(Instant now, std::uint32_t number, std::uint32_t psn,
                                 Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  for (std::size_t i = 0; i < qp.sent; ++i) {
    Request& request = qp.requests[i];
    const std::int32_t answered = wire::psn_distance(psn, request.psn);
    if (answered <= 0) break;
    if (request.work.verb != Verb::read) {
      const auto done = std::min(request.packets, static_cast<std::uint32_t>(answered));
      // Retries are counted from the last progress on, not for each message.
      if (done > request.done) qp.retries = qp.rnr_retries = 0;
      request.done = done;
      if (request.done == request.packets) request.lost = false;
    } else if (request.done < request.packets) {
      if (static_cast<std::uint32_t>(answered) <= request.done) break;  // just what comes next
      // Responses that were under way behind the missing one tell nothing new.
      if (request.gap_at != request.done) {
        request.gap_at = request.done;
        ++counters_.implied_naks;
        go_back(now, number, true);
      }
      break;
    }
  }
  complete(now, number, out);
}

void Adapter::complete(Instant now, std::uint32_t number, Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  bool progress = false;
  while (qp.sent > 0 && qp.requests.front().done == qp.requests.front().packets) {
    const Request& front = qp.requests.front();
    if (front.work.verb == Verb::read && !front.lost) --qp.reads;
    out.completions.push_back({front.work.id, number, true});
    qp.requests.pop_front();
    --qp.sent;
    progress = true;
  }
  if (!progress) return;
  qp.retries = qp.rnr_retries = 0;
  start_timer(now, number);
}

void Adapter::on_read_response(Instant now, std::uint32_t number, const Packet& packet,
                               Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  acknowledge_before(now, number, packet.psn, out);
  if (qp.sent == 0) return;
  Request& front = qp.requests.front();
  if (front.work.verb != Verb::read || packet.psn != ((front.psn + front.done) & wire::psn_mask)) {
    return;  // one that came already, or comes ahead of a missing one
  }
  if (!finds_pages(now, number, front, packet)) {
    ++counters_.discarded;
    const bool is_late = pages_.is_resident(front.waits_for) && ++front.refused == late_retries;
    if (is_late) ++counters_.flooded;
    pages_.discarded();
    return wait_again(now, number, profile_.client_retry, now + profile_.fault_detection);
  }
  if (front.lost) {
    front.lost = false;
    ++qp.reads;
  }
  ++front.done;
  front.refused = 0;
  qp.retries = qp.rnr_retries = 0;
  start_timer(now, number);
  complete(now, number, out);
  pump(now, number, out);
}

/// Whether the pages are there that a response's data goes to, as far as its request knows.
bool Adapter::finds_pages(Instant now, std::uint32_t number, Request& request,
                          const Packet& packet) {
  if (!options_.paged || request.work.pinned) return true;
  if (request.ticket != 0) return false;
  const std::uint64_t from = request.work.local + request.done * options_.mtu;
  const std::uint64_t last = (from + std::max(packet.payload, 1U) - 1) / page_bytes;
  for (std::uint64_t page = from / page_bytes; page <= last; ++page) {
    if (pages_.is_resident(page)) continue;
    request.ticket = next_ticket_++;
    request.waits_for = page;
    pages_.fault(now, page, {number, request.ticket});
    return false;
  }
  return true;
}

void Adapter::on_rnr_nak(Instant now, std::uint32_t number, const Packet& packet, Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  acknowledge_before(now, number, packet.psn, out);
  if (options_.rnr_retry != 7 && ++qp.rnr_retries > options_.rnr_retry) return fail(number, out);
  const auto nominal =
      static_cast<double>(wire::rnr_timer_ns[wire::Aeth{packet.syndrome, 0}.code()]);
  // The responder took the time that it takes to notice, so the queue pair stops at once.
  wait_again(now, number, Duration(static_cast<std::int64_t>(nominal * profile_.rnr_wait_factor)),
             now);
}

/// From `stops_at` on the queue pair sends nothing for a while, and then its sent requests again.
void Adapter::wait_again(Instant now, std::uint32_t number, Duration wait, Instant stops_at) {
  QueuePair& qp = queue_pairs_[number];
  qp.wait = Wait::again;
  qp.stopped_from = stops_at;
  qp.timeout_at = Instant::never();
  set_timer(now + wait, number, TimerKind::resume, ++qp.wait_number);
}

/// Requests that were lost unnoticed count as sent no more than the others: the READs among them
/// that would be too many at once, and all requests behind these, wait in the send queue again.
void Adapter::take_back_lost(QueuePair& qp) {
  std::uint32_t reads = 0;
  for (std::size_t i = 0; i < qp.sent; ++i) {
    Request& request = qp.requests[i];
    const bool is_read = request.work.verb == Verb::read;
    if (is_read && reads == profile_.most_reads) {
      qp.sent = i;
      break;
    }
    request.lost = false;
    if (is_read) ++reads;
  }
  qp.reads = reads;
}

/// Sends all requests that were sent again, in order. Requests that were lost unnoticed come along
/// only when a NAK, a missing response or a timeout has shown a loss.
void Adapter::go_back(Instant now, std::uint32_t number, bool with_lost) {
  QueuePair& qp = queue_pairs_[number];
  if (with_lost) take_back_lost(qp);
  ++qp.round;
  qp.resending = 0;
  for (std::size_t i = 0; i < qp.sent; ++i) {
    const Request& request = qp.requests[i];
    if (request.lost) continue;
    resends_.push_back({number, qp.round, request.serial});
    ++qp.resending;
  }
  qp.timeout_at = Instant::never();
  if (qp.resending == 0) return start_timer(now, number);
  if (resend_at_ == Instant::never()) resend_at_ = now + profile_.resend_cost;
}

void Adapter::resend_next(Instant now, Outbox& out) {
  resend_at_ = Instant::never();
  while (!resends_.empty()) {
    const Resend resend = resends_.front();
    QueuePair& qp = queue_pairs_[resend.queue_pair];
    resends_.pop_front();
    if (resend.round != qp.round || qp.failed) continue;
    if (qp.wait == Wait::again && now >= qp.stopped_from) continue;  // comes with the next round
    --qp.resending;
    const auto end = qp.requests.begin() + static_cast<std::ptrdiff_t>(qp.sent);
    const auto found = std::find_if(qp.requests.begin(), end, [&](const Request& request) {
      return request.serial == resend.serial;
    });
    const bool is_last = qp.resending == 0;
    const bool is_answered = found == end;  // meanwhile
    if (!is_answered) emit(now, resend.queue_pair, *found, out);
    if (is_last) pump(now, resend.queue_pair, out);
    if (!is_answered) break;
  }
  if (!resends_.empty()) resend_at_ = now + profile_.resend_cost;
}

void Adapter::on_timeout(Instant now, std::uint32_t number, Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  qp.timeout_at = Instant::never();
  if (qp.sent == 0 || qp.failed) return;
  ++counters_.timeouts;
  if (qp.requests.front().lost) ++counters_.dammed;
  if (qp.retries == options_.retry_count) return fail(number, out);
  ++qp.retries;
  go_back(now, number, true);
}

void Adapter::fail(std::uint32_t number, Outbox& out) {
  QueuePair& qp = queue_pairs_[number];
  qp.failed = true;
  for (const Request& request : qp.requests) {
    out.completions.push_back({request.work.id, number, false});
  }
  qp.requests.clear();
  qp.sent = 0;
  qp.wait = Wait::none;
}

void Adapter::on_told(Instant now, Outbox& out) {
  for (const Waiter& waiter : pages_.take_notified()) {
    QueuePair& qp = queue_pairs_[waiter.queue_pair];
    for (Request& request : qp.requests) {
      if (request.ticket != waiter.ticket) continue;
      request.ticket = 0;
      if (qp.wait != Wait::local_page) break;
      qp.wait = Wait::none;
      pump(now, waiter.queue_pair, out);
      break;
    }
  }
}

}  // namespace weft::net::rc
