// SPDX-License-Identifier: Apache-2.0
#include "trace/events/interpreter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "trace/events/collective_size.hpp"

namespace weft::trace {
namespace {

using Kind = Record::Kind;

Error contradiction(std::string text) {
  return Error{ErrorCode::corrupt, std::move(text)};
}

bool begins_the_program(std::uint16_t operation) {
  const auto call = static_cast<Call>(operation);
  return call == Call::MPI_Init || call == Call::MPI_Init_thread || call == Call::weft_begin;
}

bool ends_the_program(std::uint16_t operation) {
  const auto call = static_cast<Call>(operation);
  return call == Call::MPI_Finalize || call == Call::weft_end;
}

}  // namespace

Interpreter::Interpreter(std::uint32_t rank, const Communicators& communicators,
                         std::size_t look_ahead)
    : rank_(rank), communicators_(communicators), look_ahead_(look_ahead) {}

bool Interpreter::is_unresolved(const Event& event) const {
  return event.kind == Event::Kind::receive && event.peer == no_peer;
}

bool Interpreter::is_ready() const {
  if (finished_) return true;
  if (events_.empty()) return false;
  return !is_unresolved(events_.front()) || events_.size() >= look_ahead_;
}

/// The receive at the front becomes nothing; it comes where it completes.
void Interpreter::give_up_on_front() {
  for (auto& [id, request] : requests_) {
    if (!request.is_send && request.index == taken_) request.is_late = true;
  }
  Event& front = events_.front();
  front = {.kind = Event::Kind::compute, .at_ns = front.at_ns, .number = front.number};
}

Event Interpreter::take() {
  if (events_.empty()) return {};
  if (!finished_ && is_unresolved(events_.front())) give_up_on_front();
  const Event event = events_.front();
  events_.pop_front();
  ++taken_;
  return event;
}

void Interpreter::finish() {
  finished_ = true;
}

void Interpreter::push(Event event) {
  event.at_ns = at_ns_;
  event.number = number_;
  events_.push_back(event);
}

std::uint32_t Interpreter::take_slot() {
  if (free_.empty()) return slots_++;
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

void Interpreter::compute_until(std::uint64_t ns) {
  if (ns > computes_since_ns_) {
    push({.kind = Event::Kind::compute, .compute_ns = ns - computes_since_ns_});
  }
  computes_since_ns_ = ns;
}

Result<void> Interpreter::add(const Record& r, std::uint64_t number) {
  number_ = number;
  if (!began_) {
    began_ = true;
    at_ns_ = computes_since_ns_ = r.time_ns;
  }
  if (r.time_ns < at_ns_) {
    return contradiction(
        fmt::format("it happens {} ns before the one before it", at_ns_ - r.time_ns));
  }
  at_ns_ = r.time_ns;
  if (depth_ == 0 && r.kind != Kind::leave) compute_until(r.time_ns);
  switch (r.kind) {
    case Kind::enter:
    case Kind::leave:
      return add_call(r);
    case Kind::send:
    case Kind::receive:
      return add_message(r);
    case Kind::send_started:
    case Kind::receive_started:
      return begin_request(r);
    case Kind::send_done:
    case Kind::receive_done:
    case Kind::cancelled:
      return complete_request(r);
    case Kind::collective:
      return add_collective(r);
    case Kind::progress:
      push({.kind = Event::Kind::mark_progress});
      return {};
    default:
      return {};
  }
}

Result<void> Interpreter::add_call(const Record& r) {
  if (r.kind == Kind::enter) {
    ++depth_;
    // Its end is that of the program's own time.
    if (ends_the_program(r.operation)) push({.kind = Event::Kind::compute});
    return {};
  }
  if (depth_ == 0) return contradiction("a call returns that never began");
  if (--depth_ > 0) return {};
  for (const std::uint32_t slot : waits_) {
    push({.kind = Event::Kind::wait, .request = slot});
    free_.push_back(slot);
  }
  waits_.clear();
  computes_since_ns_ = r.time_ns;
  if (begins_the_program(r.operation)) push({.kind = Event::Kind::compute});
  return {};
}

Result<std::uint32_t> Interpreter::rank_of(std::uint32_t communicator, std::uint32_t member) const {
  if (communicator >= communicators_.size()) {
    return contradiction(fmt::format("communicator {} is not defined", communicator));
  }
  const auto& members = communicators_[communicator];
  if (members.empty() && member == 0) return rank_;
  if (member >= members.size()) {
    return contradiction(fmt::format("communicator {} has {} members and no rank {}", communicator,
                                     std::max<std::size_t>(members.size(), 1), member));
  }
  return members[member];
}

Result<void> Interpreter::fill(Event& event, const Record& r) const {
  const auto peer = rank_of(r.communicator, r.peer);
  if (!peer) return peer.error();
  event.peer = *peer;
  event.communicator = r.communicator;
  event.tag = r.tag;
  event.bytes = r.bytes;
  return {};
}

/// A send or receive that completes within the call: with all others of that call.
Result<void> Interpreter::add_message(const Record& r) {
  Event event{.kind = r.kind == Kind::send ? Event::Kind::send : Event::Kind::receive};
  if (auto good = fill(event, r); !good) return good;
  event.request = take_slot();
  push(event);
  if (depth_ > 0) {
    waits_.push_back(event.request);
    return {};
  }
  push({.kind = Event::Kind::wait, .request = event.request});
  free_.push_back(event.request);
  return {};
}

Result<void> Interpreter::begin_request(const Record& r) {
  const bool sends = r.kind == Kind::send_started;
  Event event{.kind = sends ? Event::Kind::send : Event::Kind::receive, .peer = no_peer};
  if (sends) {
    if (auto good = fill(event, r); !good) return good;
  }
  event.request = take_slot();
  const Request request{.slot = event.request, .is_send = sends, .index = taken_ + events_.size()};
  if (!requests_.emplace(r.more, request).second) {
    return contradiction(fmt::format("request {} begins while it is open", r.more));
  }
  push(event);
  return {};
}

Result<void> Interpreter::complete_request(const Record& r) {
  const auto found = requests_.find(r.more);
  if (found == requests_.end()) {
    return contradiction(fmt::format("request {} completes and never began", r.more));
  }
  const Request request = found->second;
  requests_.erase(found);
  if (r.kind != Kind::cancelled && request.is_send != (r.kind == Kind::send_done)) {
    return contradiction(
        fmt::format("request {} begins as one thing and completes as another", r.more));
  }
  if (r.kind == Kind::cancelled && !request.is_send) {
    if (!request.is_late) {
      Event& event = events_[static_cast<std::size_t>(request.index - taken_)];
      event = {.kind = Event::Kind::compute, .at_ns = event.at_ns, .number = event.number};
    }
    free_.push_back(request.slot);
    return {};
  }
  if (!request.is_send) {
    Event late{.kind = Event::Kind::receive, .request = request.slot};
    Event& event =
        request.is_late ? late : events_[static_cast<std::size_t>(request.index - taken_)];
    if (auto good = fill(event, r); !good) return good;
    if (request.is_late) push(late);
  }
  push({.kind = Event::Kind::wait, .request = request.slot});
  free_.push_back(request.slot);
  return {};
}

Result<void> Interpreter::add_collective(const Record& r) {
  if (r.communicator >= communicators_.size()) {
    return contradiction(fmt::format("communicator {} is not defined", r.communicator));
  }
  const auto& members = communicators_[r.communicator];
  if (members.size() <= 1) return {};  // nothing travels
  const auto found = std::find(members.begin(), members.end(), rank_);
  if (found == members.end()) {
    return contradiction(fmt::format("the rank is no member of communicator {}", r.communicator));
  }
  const CollectiveSizes sizes{.sent = r.bytes,
                              .received = r.more,
                              .member = static_cast<std::uint32_t>(found - members.begin()),
                              .members = static_cast<std::uint32_t>(members.size()),
                              .root = r.tag < 0 ? 0 : static_cast<std::uint32_t>(r.tag)};
  auto event = collective_event(static_cast<Collective>(r.operation), sizes);
  if (!event) return std::move(event).error();
  event->communicator = r.communicator;
  push(*event);
  return {};
}

}  // namespace weft::trace
