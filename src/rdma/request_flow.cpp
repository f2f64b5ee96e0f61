// SPDX-License-Identifier: Apache-2.0
#include "rdma/request_flow.hpp"

#include <algorithm>

namespace weft::rdma {
namespace {

using wire::psn_distance;

constexpr std::size_t most_requests = 512;
// Shorter than half of the shortest timeout that an adapter was measured to have (30 ms).
constexpr std::int64_t timeout_like_ns = 10'000'000;
// Longer between two packets is no longer the same series.
constexpr std::int64_t series_ns = 3'000'000;
// Answered requests go out again at most this often within the common time of a page fault.
constexpr std::uint32_t common_repeats = 5;
// Under flood the wait for the next try grows, to tens of milliseconds.
constexpr std::int64_t flood_gap_ns = 200'000'000;

}  // namespace

RequestFlow::Request* RequestFlow::find(std::uint32_t psn) {
  if (requests_.empty()) return nullptr;
  // The last one at or before `psn`: a READ covers what follows up to the next request.
  const auto above = std::upper_bound(
      requests_.begin(), requests_.end(), psn,
      [](std::uint32_t p, const Request& request) { return psn_distance(p, request.psn) < 0; });
  return above == requests_.begin() ? nullptr : &*std::prev(above);
}

std::optional<std::int64_t> RequestFlow::waits_for(std::uint32_t psn) const {
  auto* const found = const_cast<RequestFlow*>(this)->find(psn);
  if (found == nullptr || found->is_answered) return std::nullopt;
  if (!found->is_read && found->psn != psn) return std::nullopt;
  return found->last.time_ns;
}

FlowEvent RequestFlow::on_request(const Seen& seen, const wire::TransportPacket& packet) {
  const std::uint32_t psn = packet.bth.psn;
  const bool is_new = requests_.empty() || psn_distance(psn, requests_.back().psn) > 0;
  if (is_new) {
    if (requests_.size() == most_requests) {
      requests_.pop_front();
      if (unanswered_from_ > 0) --unanswered_from_;
    }
    Request request;
    request.psn = psn;
    request.is_read =
        packet.bth.opcode == wire::Opcode::read_request || wire::is_atomic(packet.bth.opcode);
    request.first = request.last = seen;
    requests_.push_back(request);
    // The first sight of a packet that a NAK asks for happens where the capture was taken behind
    // the loss.
    return {};
  }
  Request* request = find(psn);
  if (request == nullptr) return {};
  const bool goes_on = has_sweep_ && psn_distance(psn, sweep_psn_) > 0 &&
                       seen.time_ns - sweep_ns_ < series_ns && request->last.number < sweep_from_ &&
                       nak_psn_ != psn;
  if (!goes_on) sweep_from_ = seen.number;
  has_sweep_ = true;
  sweep_psn_ = psn;
  sweep_ns_ = seen.time_ns;
  if (request->psn != psn && !request->is_read) {
    // Never seen before: it was lost in front of where the capture was taken.
    FlowEvent event;
    if (nak_psn_ == psn)
      event = {FlowEvent::Kind::loss, nak_.number, seen.number, seen.time_ns - nak_.time_ns};
    if (nak_psn_ == psn) nak_psn_.reset();
    return event;
  }
  FlowEvent event;
  if (!goes_on) event = on_repeat(seen, *request);
  request->last = seen;
  request->is_answered = false;
  request->sent_in_wait = false;
  request->ended_own_wait = wait_ended_ == seen.number;
  const auto from_front = psn_distance(request->psn, requests_.front().psn);
  // Requests may have several PSNs each, so this is where it is or before.
  unanswered_from_ = std::min(unanswered_from_, static_cast<std::size_t>(std::max(0, from_front)));
  return event;
}

/// A request begins a series of those that go out again: why?
FlowEvent RequestFlow::on_repeat(const Seen& seen, Request& request) {
  const std::int64_t gap = seen.time_ns - request.last.time_ns;
  for (Wait& wait : waits_) {
    if (!wait.is_open || wait.psn != request.psn) continue;
    wait.is_open = false;
    wait.end_ns = seen.time_ns;
    wait_ended_ = seen.number;
    mark_wait(wait);
    if (!wait.is_long) return {};
    return {FlowEvent::Kind::long_rnr_wait, wait.begin.number, seen.number,
            seen.time_ns - wait.begin.time_ns};
  }
  const bool in_wait = was_in_wait(request);
  const FlowEvent evidence{FlowEvent::Kind::nothing, request.last.number, seen.number, gap};
  if (nak_psn_ && psn_distance(*nak_psn_, request.psn) >= 0) {
    nak_psn_.reset();
    FlowEvent event = evidence;
    event.kind = in_wait ? FlowEvent::Kind::damming_rescued : FlowEvent::Kind::loss;
    return event;
  }
  if (in_wait && gap >= timeout_like_ns) {
    FlowEvent event = evidence;
    event.kind = FlowEvent::Kind::damming;
    return event;
  }
  if (request.is_answered) return on_answered_repeat(seen, request, gap);
  FlowEvent event = evidence;
  event.kind = FlowEvent::Kind::loss;
  return event;
}

/// The answer was thrown away, as its page was not there, or it was lost behind the tap.
FlowEvent RequestFlow::on_answered_repeat(const Seen& seen, Request& request, std::int64_t gap_ns) {
  if (gap_ns < timeout_like_ns || (request.repeats > 0 && gap_ns < flood_gap_ns)) {
    mark_wait({request.psn, request.answer, seen.time_ns, false, false});
    wait_ended_ = seen.number;
    if (++request.repeats <= common_repeats) return {};
    return {FlowEvent::Kind::flood, request.first.number, seen.number,
            seen.time_ns - request.first.time_ns};
  }
  return {FlowEvent::Kind::loss, request.last.number, seen.number, gap_ns};
}

/// Notes which requests went out in a wait that has ended.
void RequestFlow::mark_wait(const Wait& wait) {
  for (auto request = requests_.rbegin(); request != requests_.rend(); ++request) {
    if (psn_distance(request->psn, wait.psn) <= 0) return;
    const std::int64_t sent = request->last.time_ns;
    if (sent >= wait.begin.time_ns && sent < wait.end_ns) request->sent_in_wait = true;
  }
}

/// Whether a request went out last in the wait of an earlier one, or at the end of its own.
bool RequestFlow::was_in_wait(const Request& request) const {
  if (request.sent_in_wait || (request.ended_own_wait && !request.is_answered)) return true;
  return std::any_of(waits_.begin(), waits_.end(), [&](const Wait& wait) {
    return wait.is_open && psn_distance(request.psn, wait.psn) > 0 &&
           request.last.time_ns >= wait.begin.time_ns;
  });
}

void RequestFlow::add_wait(const Wait& wait) {
  waits_[next_wait_++ % waits_.size()] = wait;
}

void RequestFlow::answer_until(const Seen& seen, std::uint32_t psn) {
  while (unanswered_from_ < requests_.size()) {
    Request& request = requests_[unanswered_from_];
    if (psn_distance(request.psn, psn) > 0) return;
    if (!request.is_read && !request.is_answered) {
      request.is_answered = true;
      request.answer = seen;
    }
    ++unanswered_from_;
  }
}

FlowEvent RequestFlow::on_response(const Seen& seen, const wire::TransportPacket& packet) {
  const std::uint32_t psn = packet.bth.psn;
  if (packet.aeth && packet.aeth->is_rnr_nak()) {
    if (psn != 0 || !requests_.empty()) answer_until(seen, (psn - 1) & wire::psn_mask);
    add_wait({psn, seen, 0, true, packet.aeth->code() == 0});
    return {};
  }
  if (packet.aeth && packet.aeth->is_sequence_nak()) {
    answer_until(seen, (psn - 1) & wire::psn_mask);
    nak_psn_ = psn;
    nak_ = seen;
    return {};
  }
  if (packet.aeth && packet.aeth->is_nak()) return {};
  const wire::Opcode opcode = packet.bth.opcode;
  if (opcode == wire::Opcode::acknowledge) {
    answer_until(seen, psn);
    return {};
  }
  answer_until(seen, (psn - 1) & wire::psn_mask);
  const bool is_whole =
      opcode != wire::Opcode::read_response_first && opcode != wire::Opcode::read_response_middle;
  Request* const request = find(psn);
  if (request != nullptr && request->is_read && is_whole && !request->is_answered) {
    request->is_answered = true;
    request->answer = seen;
  }
  return {};
}

}  // namespace weft::rdma
