// SPDX-License-Identifier: Apache-2.0
#include "rdma/request_flow.hpp"

#include <algorithm>
#include <utility>

namespace weft::rdma {
namespace {

using wire::psn_distance;

// Farther behind than requests are kept: the queue pair has begun anew.
constexpr std::int32_t most_behind = 1 << 16;
// Shorter than half of the shortest timeout that an adapter was measured to have (30 ms).
constexpr std::int64_t timeout_like_ns = 10'000'000;
// Longer between two packets is no longer the same series.
constexpr std::int64_t series_ns = 3'000'000;
// No adapter sends again so soon without being asked to: the capture has the packet twice. An
// answer, that got lost behind the tap, or an implied NAK may ask for it, but takes its time.
constexpr std::int64_t twice_ns = 50'000;
constexpr std::int64_t twice_answered_ns = 4'000;
// Answered requests go out again at most this often within the common time of a page fault.
constexpr std::uint32_t common_repeats = 5;
// Under flood the wait for the next try grows, to tens of milliseconds.
constexpr std::int64_t flood_gap_ns = 200'000'000;
constexpr std::size_t most_waits = 8;
// After a READ's answer was discarded, measured: 500 us.
constexpr std::int64_t soonest_retry_ns = 150'000;
constexpr std::int64_t latest_retry_ns = 5'000'000;

/// Returns whether two requests with the same PSN are not the same. A capture may have cut their
/// headers.
bool differ(const std::optional<wire::Reth>& a, const std::optional<wire::Reth>& b) {
  return a && b && (a->address != b->address || a->key != b->key || a->length != b->length);
}

}  // namespace

RequestFlow::Request* RequestFlow::find(std::uint32_t psn) {
  if (requests_.empty()) return nullptr;
  // The last one at or before `psn`: a READ covers all PSNs up to the next request.
  const auto above = std::upper_bound(
      requests_.begin(), requests_.end(), psn,
      [](std::uint32_t p, const Request& request) { return psn_distance(p, request.psn) < 0; });
  return above == requests_.begin() ? nullptr : &*std::prev(above);
}

/// Whether a packet with that PSN would be this request, or a READ's from its middle on.
bool RequestFlow::covers(const Request& request, std::uint32_t psn) const {
  if (request.psn == psn) return true;
  if (!request.is_read || mtu_ == 0) return false;  // of no READ a part was answered
  const std::int32_t into = psn_distance(psn, request.psn);
  if (into <= 0) return false;
  if (request.length > 0) return static_cast<std::uint64_t>(into) * mtu_ < request.length;
  return into <= request.answered + (request.is_answered ? -1 : 0);
}

void RequestFlow::learn_mtu(const wire::TransportPacket& packet) {
  switch (packet.bth.opcode) {
    case wire::Opcode::send_first:
    case wire::Opcode::write_first:
    case wire::Opcode::read_response_first:
    case wire::Opcode::read_response_middle:
      mtu_ = packet.payload;
      return;
    default:
      return;
  }
}

std::optional<std::int64_t> RequestFlow::waits_for(std::uint32_t psn) const {
  auto* const found = const_cast<RequestFlow*>(this)->find(psn);
  if (found == nullptr || found->is_answered) return std::nullopt;
  // A READ has as many PSNs as its answer has packets.
  constexpr std::uint32_t least_mtu = 256, most_unknown = 1 << 18;
  const auto into = static_cast<std::uint32_t>(psn_distance(psn, found->psn));
  const std::uint32_t length = found->length > 0 ? found->length : most_unknown;
  if (into > 0 && (!found->is_read || into > (length - 1) / (mtu_ > 0 ? mtu_ : least_mtu))) {
    return std::nullopt;
  }
  return found->last.time_ns;
}

bool RequestFlow::fits(const wire::TransportPacket& response) const {
  constexpr std::uint32_t padding = 8;  // and the most that a cut header may be wrong by
  auto* const found = const_cast<RequestFlow*>(this)->find(response.bth.psn);
  if (found == nullptr) return false;
  const wire::Opcode opcode = response.bth.opcode;
  if (opcode == wire::Opcode::acknowledge) {
    return !found->is_read || (response.aeth && !response.aeth->is_ack());
  }
  if (!found->is_read) return false;
  if (found->psn != response.bth.psn || found->length == 0 || response.payload == 0) return true;
  if (opcode == wire::Opcode::read_response_first) return found->length > response.payload;
  if (opcode != wire::Opcode::read_response_only) return true;
  return response.payload >= found->length && response.payload < found->length + padding;
}

std::optional<std::int64_t> RequestFlow::lacks(std::uint32_t psn) const {
  constexpr std::int32_t most_missing = 1 << 14;
  if (requests_.empty() || requests_.front().is_answered) return std::nullopt;
  const std::int32_t ahead = psn_distance(requests_.front().psn, psn);
  if (ahead > most_missing || psn_distance(requests_.back().psn, psn) <= 0) return std::nullopt;
  if (ahead > 0) return requests_.front().last.time_ns;
  const Request& before = *const_cast<RequestFlow*>(this)->find(psn);
  if (covers(before, psn)) return std::nullopt;
  return before.last.time_ns;
}

FlowEvent RequestFlow::on_request(const Seen& seen, const wire::TransportPacket& packet,
                                  std::size_t most) {
  const std::uint32_t psn = packet.bth.psn;
  Request* request = find(psn);
  if (is_set_up_anew(seen, packet, request)) {
    const std::uint32_t repeats = may_be_flooded(seen, psn, request) ? request->repeats + 1 : 0;
    start_anew();
    request = nullptr;
    carried_repeats_ = repeats;
  }
  learn_mtu(packet);
  if (request == nullptr || !covers(*request, psn)) return add(seen, packet, most);
  const bool goes_on = goes_on_with_sweep(seen, *request, psn);
  if (!goes_on && is_captured_twice(seen, *request, psn)) return {};
  if (!goes_on) {
    sweep_from_ = seen.number;
    sweep_psn_ = psn;
  }
  has_sweep_ = true;
  sweep_ns_ = seen.time_ns;
  FlowEvent event;
  if (goes_on) {
    if (request->trouble == FlowEvent::Kind::nothing) {
      request->trouble = sweep_trouble_;
      request->trouble_packet = sweep_trouble_packet_;
    }
  } else {
    event = on_repeat(seen, *request, psn);
  }
  request->last = seen;
  request->last_psn = psn;
  request->is_answered = request->lacks_answer = false;
  request->sent_in_wait = false;
  request->sent_after_wait =
      wait_ended_ == seen.number || (behind_ && psn_distance(request->psn, *behind_) > 0);
  const auto from_front = psn_distance(request->psn, requests_.front().psn);
  // Requests may have several PSNs each, so this is where it is or before.
  unanswered_from_ = std::min(unanswered_from_, static_cast<std::size_t>(std::max(0, from_front)));
  return event;
}

/// Whether this is the first request of another connection with the same number: a retransmission
/// is the same as before, and begins behind the requests that the requester knows to be answered.
bool RequestFlow::is_set_up_anew(const Seen& seen, const wire::TransportPacket& packet,
                                 const Request* request) const {
  if (requests_.empty()) return false;
  const std::uint32_t psn = packet.bth.psn;
  const Request& front = requests_.front();
  const std::int32_t ahead = psn_distance(psn, front.psn);
  if (ahead < -most_behind) return true;
  const bool is_known = request != nullptr && request->psn == psn;
  if (is_known && request->is_answered &&
      (request->opcode != packet.bth.opcode || request->payload != packet.payload ||
       differ(request->reth, packet.reth))) {
    return true;
  }
  if (!has_later_answer_ || nak_psn_ == psn) return false;
  if (ahead < 0) return front.is_answered;
  if (!is_known || psn != lowest_psn_ || !request->is_answered) return false;
  if (!request->is_read) return true;
  // The answers of a READ may all have been discarded. The first time it goes out again soon then,
  // and not for long.
  const std::int64_t since = seen.time_ns - request->answer.time_ns;
  return since >= (request->repeats == 0 ? timeout_like_ns : flood_gap_ns);
}

/// Whether a READ that seems to begin another connection may be one of a flood: its requests come
/// back after tens of milliseconds as well. It is taken for another connection once.
bool RequestFlow::may_be_flooded(const Seen& seen, std::uint32_t psn,
                                 const Request* request) const {
  return request != nullptr && request->psn == psn && request->is_read && request->is_answered &&
         seen.time_ns - request->answer.time_ns < flood_gap_ns;
}

void RequestFlow::start_anew() {
  const std::uint32_t restarts = restarts_ + 1;
  *this = {};
  restarts_ = restarts;
}

/// A request that was not seen before.
FlowEvent RequestFlow::add(const Seen& seen, const wire::TransportPacket& packet,
                           std::size_t most) {
  const std::uint32_t psn = packet.bth.psn;
  Request request;
  request.psn = request.last_psn = psn;
  request.is_read =
      packet.bth.opcode == wire::Opcode::read_request || wire::is_atomic(packet.bth.opcode);
  if (packet.reth) request.length = packet.reth->length;
  if (wire::is_atomic(packet.bth.opcode)) request.length = 1;
  request.opcode = packet.bth.opcode;
  request.payload = packet.payload;
  request.reth = packet.reth;
  request.repeats = std::exchange(carried_repeats_, 0);
  request.first = request.last = seen;
  if (requests_.empty() || psn_distance(psn, lowest_psn_) < 0) lowest_psn_ = psn;
  while (requests_.size() >= std::min(most, most_answered) &&
         (requests_.size() >= most || requests_.front().is_answered)) {
    if (psn_distance(psn, requests_.front().psn) < 0) return {};
    requests_.pop_front();
    if (unanswered_from_ > 0) --unanswered_from_;
  }
  const auto above = std::upper_bound(
      requests_.begin(), requests_.end(), psn,
      [](std::uint32_t p, const Request& other) { return psn_distance(p, other.psn) < 0; });
  const auto place = static_cast<std::size_t>(above - requests_.begin());
  const bool is_late = above != requests_.end();
  // No requester leaves out so many, and making room in the middle takes time.
  if (std::min(place, requests_.size() - place) > most_answered) return {};
  requests_.insert(above, request);
  if (!is_late) return {};
  unanswered_from_ = std::min(unanswered_from_, place);
  return seen_late(seen, place);
}

/// Later ones were seen before: it was lost in front of where the capture was taken, if a NAK asked
/// for it, or the capture begins in the middle.
FlowEvent RequestFlow::seen_late(const Seen& seen, std::size_t place) {
  Request& request = requests_[place];
  if (nak_psn_ != request.psn) return {};
  nak_psn_.reset();
  // It was sent for the first time between those around it.
  const std::int64_t from = place > 0 ? requests_[place - 1].first.time_ns : INT64_MIN;
  const std::int64_t to = requests_[place + 1].first.time_ns;
  const bool in_wait = std::any_of(waits_.begin(), waits_.end(), [&](const Wait& wait) {
    return psn_distance(request.psn, wait.psn) > 0 && wait.begin.time_ns <= to &&
           (wait.is_open || wait.end_ns >= from);
  });
  request.trouble = in_wait ? FlowEvent::Kind::damming_rescued : FlowEvent::Kind::loss;
  sweep_from_ = seen.number;
  has_sweep_ = true;
  sweep_psn_ = request.psn;
  sweep_ns_ = seen.time_ns;
  sweep_trouble_ = request.trouble;
  request.trouble_packet = sweep_trouble_packet_ = seen.number;
  return {request.trouble, nak_.number, seen.number, seen.time_ns - nak_.time_ns};
}

/// Whether a request goes out again in a row with others.
bool RequestFlow::goes_on_with_sweep(const Seen& seen, const Request& request,
                                     std::uint32_t psn) const {
  return has_sweep_ && psn_distance(psn, sweep_psn_) > 0 && seen.time_ns - sweep_ns_ < series_ns &&
         request.last.number < sweep_from_ && nak_psn_ != psn;
}

bool RequestFlow::is_captured_twice(const Seen& seen, const Request& request,
                                    std::uint32_t psn) const {
  const std::int64_t most_ns = request.is_answered ? twice_answered_ns : twice_ns;
  if (seen.time_ns - request.last.time_ns > most_ns) return false;
  if (request.last_psn != psn || nak_psn_ == psn || request.lacks_answer) return false;
  return std::none_of(waits_.begin(), waits_.end(), [&](const Wait& wait) {
    return wait.is_open && wait.psn == psn && seen.time_ns - wait.begin.time_ns >= wait.asked_ns;
  });
}

/// A request begins a series of those that go out again. Its later trouble belongs to the finding
/// of its first trouble.
FlowEvent RequestFlow::on_repeat(const Seen& seen, Request& request, std::uint32_t psn) {
  using Kind = FlowEvent::Kind;
  FlowEvent event = why_repeated(seen, request, psn);
  sweep_trouble_ = Kind::nothing;
  if (event.kind == Kind::flood) {
    if (request.trouble == Kind::loss) event.belongs_to = request.trouble_packet;
    request.trouble = Kind::flood;
  }
  if (event.kind != Kind::damming && event.kind != Kind::damming_rescued &&
      event.kind != Kind::loss) {
    return event;
  }
  if (request.trouble != Kind::nothing && request.trouble != Kind::flood) {
    event.kind = request.trouble;
    event.belongs_to = request.trouble_packet;
  } else {
    request.trouble_packet = event.last_packet;
  }
  request.trouble = sweep_trouble_ = event.kind;
  sweep_trouble_packet_ = request.trouble_packet;
  return event;
}

FlowEvent RequestFlow::why_repeated(const Seen& seen, Request& request, std::uint32_t psn) {
  const std::int64_t gap = seen.time_ns - request.last.time_ns;
  for (Wait& wait : waits_) {
    if (!wait.is_open || (wait.psn != request.psn && wait.psn != psn)) continue;
    wait.is_open = false;
    wait.end_ns = seen.time_ns;
    end_wait(seen, request);
    mark_wait(wait);
    if (!wait.is_long) return {};
    return {FlowEvent::Kind::long_rnr_wait, wait.begin.number, seen.number,
            seen.time_ns - wait.begin.time_ns};
  }
  FlowEvent event{FlowEvent::Kind::loss, request.last.number, seen.number, gap};
  // The responder answered a later one, so it had this one: the answer was lost.
  if (request.lacks_answer) return event;
  if (nak_psn_ && psn_distance(*nak_psn_, request.psn) >= 0) {
    nak_psn_.reset();
    if (was_rescued(request)) event.kind = FlowEvent::Kind::damming_rescued;
    return event;
  }
  if (!request.is_answered && was_in_wait(request)) {
    event.kind = FlowEvent::Kind::damming;
    return event;
  }
  return request.is_answered ? on_answered_repeat(seen, request, gap) : event;
}

/// The answer was thrown away, as its page was not there, or it was lost behind the tap.
FlowEvent RequestFlow::on_answered_repeat(const Seen& seen, Request& request, std::int64_t gap_ns) {
  bool is_short = gap_ns < timeout_like_ns;
  // An answer without its page is asked for again about half a millisecond later, no sooner and
  // the first time not much later. Only a READ has an answer that could be thrown away.
  if (request.last.number == request.first.number) {
    const std::int64_t since = seen.time_ns - request.answer.time_ns;
    is_short = request.is_read && since >= soonest_retry_ns && gap_ns < latest_retry_ns;
  }
  if (gap_ns < flood_gap_ns && ++request.repeats > common_repeats) {
    end_discard(seen, request);
    return {FlowEvent::Kind::flood, request.first.number, seen.number,
            seen.time_ns - request.first.time_ns};
  }
  const bool was_discarded = request.repeats > 1 && request.trouble == FlowEvent::Kind::nothing;
  if (is_short || (was_discarded && gap_ns < flood_gap_ns)) {
    end_discard(seen, request);
    return {};
  }
  return {FlowEvent::Kind::loss, request.last.number, seen.number, gap_ns};
}

/// A wait without an RNR NAK: the requester discarded the answer.
void RequestFlow::end_discard(const Seen& seen, const Request& request) {
  const Wait wait{request.psn, request.answer, 0, seen.time_ns, false, false};
  remember(wait);
  mark_wait(wait);
  end_wait(seen, request);
}

void RequestFlow::end_wait(const Seen& seen, const Request& request) {
  wait_ended_ = seen.number;
  behind_ = request.psn;
}

void RequestFlow::remember(const Wait& wait) {
  if (waits_.size() < most_waits) {
    waits_.push_back(wait);
  } else {
    waits_[next_wait_++ % most_waits] = wait;
  }
}

bool RequestFlow::is_open() const {
  return std::any_of(waits_.begin(), waits_.end(), [](const Wait& w) { return w.is_open; }) ||
         std::any_of(requests_.begin(), requests_.end(),
                     [](const Request& r) { return !r.is_answered; });
}

/// Notes which requests went out in a wait that has ended.
void RequestFlow::mark_wait(const Wait& wait) {
  for (auto request = requests_.rbegin(); request != requests_.rend(); ++request) {
    if (psn_distance(request->psn, wait.psn) <= 0) return;
    const std::int64_t sent = request->last.time_ns;
    if (sent >= wait.begin.time_ns && sent < wait.end_ns) request->sent_in_wait = true;
  }
}

/// Whether a request went out last in the wait of an earlier one, or at the end of a wait.
bool RequestFlow::was_in_wait(const Request& request) const {
  if (request.sent_in_wait || (request.sent_after_wait && !request.is_answered)) return true;
  return std::any_of(waits_.begin(), waits_.end(), [&](const Wait& wait) {
    return wait.is_open && psn_distance(request.psn, wait.psn) > 0 &&
           request.last.time_ns >= wait.begin.time_ns;
  });
}

/// Whether a request of which a NAK says that it is missing was lost in a wait. If damming loses a
/// request that goes out again at the end of a wait, it loses all behind it as well: a NAK that
/// came before anything new went out was drawn by one of these, so the network lost a packet.
bool RequestFlow::was_rescued(const Request& request) const {
  if (!was_in_wait(request)) return false;
  return request.sent_in_wait || !request.sent_after_wait ||
         requests_.back().first.number > wait_ended_;
}

void RequestFlow::answer(const Seen& seen, Request& request) {
  if (behind_ == request.psn) behind_.reset();
  if (request.is_answered) return;
  if (!first_answer_) first_answer_ = seen.number;
  if (request.first.number > *first_answer_) has_later_answer_ = true;
  request.is_answered = request.was_answered = true;
  request.lacks_answer = false;
  request.answer = seen;
}

/// A packet of a READ's answer. They come in order: one that others come instead of was lost.
void RequestFlow::answer_part(const Seen& seen, Request& request, std::int32_t part, bool is_last) {
  if (part > request.answered) {
    request.lacks_answer = true;
    return;
  }
  request.answered = std::max(request.answered, part + 1);
  if (is_last) answer(seen, request);
}

/// Answers come in order, so that a READ is missing its own when the answer to a later request,
/// `shown_by`, is seen before.
void RequestFlow::answer_until(const Seen& seen, std::uint32_t psn,
                               std::optional<std::uint32_t> shown_by) {
  for (; unanswered_from_ < requests_.size(); ++unanswered_from_) {
    Request& request = requests_[unanswered_from_];
    if (psn_distance(request.psn, psn) > 0) return;
    if (!request.is_read) {
      answer(seen, request);
    } else if (shown_by && !request.was_answered && unanswered_from_ + 1 < requests_.size()) {
      const std::uint32_t next = requests_[unanswered_from_ + 1].psn;
      if (psn_distance(next, *shown_by) <= 0) request.lacks_answer = true;
    }
  }
}

FlowEvent RequestFlow::on_rnr_nak(const Seen& seen, std::uint32_t psn, std::uint8_t code) {
  if (!requests_.empty()) answer_until(seen, (psn - 1) & wire::psn_mask);
  const bool is_known = std::any_of(waits_.begin(), waits_.end(), [&](const Wait& wait) {
    return wait.is_open && wait.psn == psn;
  });
  if (is_known) return {};
  remember({psn, seen, wire::rnr_timer_ns[code], 0, true, code == 0});
  if (code != 0) return {};
  return {FlowEvent::Kind::long_rnr_wait, seen.number, seen.number, 0};
}

FlowEvent RequestFlow::on_response(const Seen& seen, const wire::TransportPacket& packet) {
  const std::uint32_t psn = packet.bth.psn;
  const wire::Opcode opcode = packet.bth.opcode;
  learn_mtu(packet);
  if (packet.aeth && packet.aeth->is_rnr_nak()) {
    return on_rnr_nak(seen, psn, packet.aeth->code());
  }
  if (packet.aeth && packet.aeth->is_sequence_nak()) {
    answer_until(seen, (psn - 1) & wire::psn_mask);
    nak_psn_ = psn;
    nak_ = seen;
    return {};
  }
  if (packet.aeth && packet.aeth->is_nak()) return {};
  if (opcode == wire::Opcode::acknowledge) {
    if (packet.aeth) answer_until(seen, psn, psn);  // or the capture cut the AETH
    return {};
  }
  answer_until(seen, (psn - 1) & wire::psn_mask, psn);
  const bool is_last =
      opcode != wire::Opcode::read_response_first && opcode != wire::Opcode::read_response_middle;
  Request* const request = find(psn);
  if (request == nullptr || !request->is_read) return {};
  answer_part(seen, *request, psn_distance(psn, request->psn), is_last);
  return {};
}

}  // namespace weft::rdma
