// SPDX-License-Identifier: Apache-2.0
#include "core/stream/compute_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::stream {

ComputeMachine::ComputeMachine(const ComputeConfig& config, std::vector<PairMemory> memory,
                               std::unique_ptr<schedule::ComputeSchedule> schedule)
    : config_(config),
      schedule_(std::move(schedule)),
      peers_(config.roster.inputs),
      table_(config.roster.inputs),
      messages_(256),
      early_(std::size_t{64} * config.roster.inputs) {
  WEFT_CHECK(memory.size() == config.roster.inputs && config.self < config.roster.computes);
  for (const auto& pair : memory) pairs_.emplace_back(pair);
  view_.inputs = IndexSet(config.roster.inputs);
  view_.computes = IndexSet(config.roster.computes);
  remembers_ = !config.restarted;
}

void ComputeMachine::on_completion(Instant now, const Completion& completion) {
  if (!config_.roster.is_input(completion.peer)) return;
  const std::uint32_t input = completion.peer.value();
  Peer& peer = peers_[input];
  switch (completion.kind) {
    case CompletionKind::received:
      if (!on_message(now, input, completion.data)) ++counters_.refused_messages;
      break;
    case CompletionKind::peer_up:
      peer.up = true;
      if (peer.incarnation != completion.incarnation) {
        peer.bye = false;
        peer.ended = TimesliceIndex::max();
        peer.owes = static_cast<std::uint8_t>(peer.owes & ~owes_promise);  // to the life before
      }
      peer.incarnation = completion.incarnation;
      if (config_.give_up_after != Duration::max()) next_give_up_ = std::min(next_give_up_, now);
      offer(input);
      if (said_bye_) owe(input, owes_bye);
      // The input nodes that knew the view may all have died since.
      if (view_.number > 0) owe(input, owes_view);
      if (takes_part_ && view_.inputs.contains(input)) schedule_->on_reconnected(input);
      break;
    case CompletionKind::peer_down:
      peer.up = false;
      if (prepared_by_.value() == input) asker_stayed_ = false;
      peer.has_deferred = false;
      pairs_[input].withdraw();
      if (!peer.bye && view_.inputs.contains(input)) owe(input, owes_suspect);
      break;
    default:
      break;
  }
}

bool ComputeMachine::on_message(Instant now, std::uint32_t input,
                                std::span<const std::byte> bytes) {
  switch (message_type(bytes)) {
    case MessageType::written:
      if (const auto written = decode_written(bytes)) return on_written(now, input, *written);
      return false;
    case MessageType::view:
      if (const auto view = decode_view(bytes, config_.roster)) {
        if (view->number > view_.number) on_view(now, *view);
        return true;
      }
      return false;
    case MessageType::schedule:
      return on_schedule_message(now, input, bytes);
    case MessageType::bye:
      peers_[input].bye = true;
      return true;
    case MessageType::probe:
      owe(input, owes_present);
      return true;
    case MessageType::prepare:
      if (const auto prepare = decode_prepare(bytes, config_.roster)) {
        on_prepare(input, *prepare);
        return true;
      }
      return false;
    default:
      return false;
  }
}

bool ComputeMachine::on_schedule_message(Instant now, std::uint32_t input,
                                         std::span<const std::byte> bytes) {
  const auto message = decode_schedule(bytes);
  const std::uint32_t current = view_.number;
  if (!message) return false;
  if (message->view > current) return early_.keep(input, message->view, message->payload);
  if (message->view == current) schedule_->on_message(now, input, message->payload);
  return true;
}

bool ComputeMachine::on_written(Instant now, std::uint32_t input, const Written& written) {
  PairReceiver& pair = pairs_[input];
  if (written.view > view_.number) {
    peers_[input].deferred = written;
    peers_[input].has_deferred = true;
    return true;
  }
  switch (pair.on_written(written)) {
    case PairReceiver::Accepted::refused:
      return false;
    case PairReceiver::Accepted::ignored:
      return true;
    case PairReceiver::Accepted::yes:
      break;
  }
  while (const auto arrival = pair.take_arrival()) on_arrival(now, input, *arrival);
  owe_credit(input);
  if (written.ended != peers_[input].ended) on_end(input, written.ended);
  return !pair.corrupt();
}

void ComputeMachine::on_arrival(Instant now, std::uint32_t input,
                                const PairReceiver::Arrival& arrival) {
  const auto& d = arrival.descriptor;
  const TimesliceIndex t(d.timeslice);
  if (!is_own(t)) {
    ++counters_.refused_messages;
    pairs_[input].release(arrival.record);
    return;
  }
  Assembly* assembly = table_.find(t);
  if (assembly == nullptr && t >= next_) {
    assembly = &table_.create(t);
    begun_below_ = std::max(begun_below_, t.plus(1));
    assembly->waiting_for = expected(t);
    assembly->first = now;
    if (config_.give_up_after != Duration::max()) {
      next_give_up_ = std::min(next_give_up_, now + config_.give_up_after);
    }
  }
  // Also contributions that come too late: the schedule waits for those that it asked for.
  schedule_->on_contribution(now, input, t, ByteCount(d.size));
  if (assembly != nullptr && assembly->state == Assembly::State::delivered &&
      !assembly->components[input].present && !assembly->components[input].is_late) {
    // Its input node counts it as done when its place is free: not before the sink has.
    ++counters_.late;
    assembly->components[input].is_late = true;
    assembly->components[input].record = arrival.record;
    return;
  }
  if (assembly == nullptr || assembly->state != Assembly::State::collecting ||
      assembly->components[input].present) {
    ++counters_.late;  // given up before, or sent twice: its place is free again at once
    pairs_[input].release(arrival.record);
    return;
  }
  if (assembly->waiting_for.contains(input)) assembly->waiting_for.erase(input);
  peers_[input].late_since = Instant::never();
  Component& component = assembly->components[input];
  component = {.present = true,
               .size = d.size,
               .microslices = d.microslices,
               .position = arrival.position,
               .record = arrival.record};
  assembly->last = now;
  if (config_.late_after != Duration::max() && now - assembly->first > config_.late_after) {
    assembly->flags |= bit(TimesliceFlag::late);
  }
  deliver_complete();
}

bool ComputeMachine::is_own(TimesliceIndex t) const {
  return t >= view_.first && view_.owner(t) == config_.self;
}

/// The first of its own timeslices from t on, which is one of them, that is not done since before
/// this view.
TimesliceIndex ComputeMachine::next_own(TimesliceIndex t) const {
  while (view_.is_done(t)) t = t.plus(view_.computes.count());
  return t;
}

IndexSet ComputeMachine::expected(TimesliceIndex t) const {
  IndexSet set = view_.inputs;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    const Peer& peer = peers_[i];
    if (set.contains(i) && (peer.ended <= t || peer.given_up > t)) set.erase(i);
  }
  return set;
}

/// In ascending order, so that "all below are done" can be said of them. Input nodes send in that
/// order, so that only the end of one input's stream completes a later one first.
void ComputeMachine::deliver_complete() {
  for (;;) {
    Assembly* assembly = table_.find(next_);
    if (assembly == nullptr || assembly->state != Assembly::State::collecting) break;
    if (!assembly->waiting_for.empty()) break;
    deliver(*assembly);
  }
  if (!behind_.empty()) tell_behind();
}

/// Only of timeslices that the sink has done with: until then an input node's contribution may be
/// needed elsewhere, because this node may die with it.
void ComputeMachine::tell_behind() {
  for (const std::uint32_t input : behind_) owe(input, owes_given_up);
  std::erase_if(behind_, [&](std::uint32_t input) { return peers_[input].given_up <= consumed_; });
}

void ComputeMachine::deliver(Assembly& assembly) {
  bool missing = false;
  for (const Component& component : assembly.components) {
    missing = missing || !component.present;
    counters_.bytes += component.size;
    if (component.microslices & static_cast<std::uint32_t>(ContributionFlag::missing_microslices)) {
      assembly.flags |= bit(TimesliceFlag::missing_microslices);
    }
    if (component.microslices & static_cast<std::uint32_t>(ContributionFlag::repeated)) {
      assembly.flags |= bit(TimesliceFlag::repeated);
    }
  }
  if (missing) assembly.flags |= bit(TimesliceFlag::missing_components);
  ++(missing ? counters_.incomplete : counters_.complete);
  if (assembly.flags & bit(TimesliceFlag::late)) ++counters_.late;
  if (assembly.flags & bit(TimesliceFlag::repeated)) ++counters_.repeated;
  assembly.state = Assembly::State::delivered;
  delivered_below_ = std::max(delivered_below_, assembly.timeslice.plus(1));
  next_ = next_own(assembly.timeslice.plus(view_.computes.count()));
  ready_.push_back(assembly.timeslice);
  built_.push_back(
      {assembly.timeslice, assembly.last, assembly.last - assembly.first, assembly.flags});
}

void ComputeMachine::free_component(std::uint32_t input, const Component& component) {
  pairs_[input].release(component.record);
  if (pairs_[input].offered()) {
    owe_credit(input);
  } else {
    offer(input);
  }
}

void ComputeMachine::release(TimesliceIndex t) {
  Assembly* assembly = table_.find(t);
  WEFT_CHECK(assembly != nullptr && assembly->state == Assembly::State::delivered,
             "timeslice {} is not out for consumption", t.value());
  for (std::uint32_t i = 0; i < assembly->components.size(); ++i) {
    const Component& component = assembly->components[i];
    if (component.present || component.is_late) free_component(i, component);
  }
  table_.erase(t);
  while (takes_part_ && consumed_ < next_ && table_.find(consumed_) == nullptr) {
    consumed_ = next_own(consumed_.plus(view_.computes.count()));
  }
  if (!behind_.empty()) tell_behind();
  if (!std::exchange(awaits_sink_, false)) return;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) offer(i);
}

namespace {

/// Start and duration from the spacing of one input's microslices; one alone tells no duration.
void date(TimesliceView& view, const ComponentView& component) {
  const auto* d = reinterpret_cast<const MicrosliceDescriptor*>(component.data.data());
  const std::uint64_t count = component.num_microslices;
  const std::uint64_t core = std::min<std::uint64_t>(count, view.num_core_microslices);
  view.start_time = d[0].index;
  if (count > core) {
    view.duration = d[core].index - d[0].index;
  } else if (core > 1) {
    view.duration = (d[core - 1].index - d[0].index) / (core - 1) * core;
  }
}

}  // namespace

TimesliceView ComputeMachine::view(TimesliceIndex t, std::span<ComponentView> components) {
  Assembly* assembly = table_.find(t);
  WEFT_CHECK(assembly != nullptr && assembly->state == Assembly::State::delivered);
  WEFT_CHECK(components.size() == assembly->components.size());
  TimesliceView view;
  view.index = t;
  view.flags = assembly->flags;
  view.num_core_microslices = config_.microslices_per_timeslice;
  view.components = components;
  bool dated = false;
  for (std::uint32_t i = 0; i < components.size(); ++i) {
    const Component& component = assembly->components[i];
    components[i] = ComponentView{};
    components[i].num_microslices = component.microslices & microslice_count_mask;
    if (!component.present) {
      const bool has_ended = peers_[i].ended <= t;
      components[i].flags =
          bit(TimesliceFlag::missing_components) | (has_ended ? bit(TimesliceFlag::ended) : 0);
      continue;
    }
    if (component.microslices & static_cast<std::uint32_t>(ContributionFlag::missing_microslices)) {
      components[i].flags = bit(TimesliceFlag::missing_microslices);
    }
    components[i].data = pairs_[i].content(component.position, component.size);
    if (dated || components[i].num_microslices == 0) continue;
    date(view, components[i]);
    dated = true;
  }
  return view;
}

std::string ComputeMachine::describe() const {
  std::string text = fmt::format(
      "compute {}: view {} member {}, building {}, complete {}, incomplete {}", config_.self,
      view_.number, takes_part_, table_.size(), counters_.complete, counters_.incomplete);
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    const Credit credit = pairs_[i].credit();
    text += fmt::format("; input {} up {} bye {} offered {} view {} received {} released {}", i,
                        peers_[i].up, peers_[i].bye, pairs_[i].offered(), credit.view,
                        credit.received, credit.released);
  }
  return text;
}

void ComputeMachine::give_up(Instant now) {
  if (now < next_give_up_) return;
  next_give_up_ = Instant::never();
  for (;;) {
    // The oldest began first.
    Assembly* oldest = table_.find(next_);
    if (oldest == nullptr || oldest->state != Assembly::State::collecting) return;
    const Instant at = oldest->first + config_.give_up_after;
    if (at > now) {
      next_give_up_ = at;
      return;
    }
    const IndexSet late = oldest->waiting_for;
    // Whether to go on without a node that is not connected is for the next view to say: perhaps
    // it goes on elsewhere.
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
      if (late.contains(i) && !peers_[i].up) return;
    }
    for (std::uint32_t i = 0; i < peers_.size(); ++i) {
      if (late.contains(i)) give_up_on(now, i, oldest->timeslice);
    }
    deliver_complete();
  }
}

/// An input node of which nothing came in time for as long as the limit would stay behind: each of
/// its contributions would be as late as the one before. It is told to go on in the present.
void ComputeMachine::give_up_on(Instant now, std::uint32_t input, TimesliceIndex t) {
  Peer& peer = peers_[input];
  if (peer.late_since == Instant::never()) peer.late_since = now;
  const bool skips = now - peer.late_since >= config_.give_up_after;
  peer.given_up = std::max(peer.given_up, skips ? begun_below_ : t.plus(1));
  for (TimesliceIndex own = t; own < peer.given_up; own = own.plus(view_.computes.count())) {
    Assembly* assembly = table_.find(own);
    if (assembly == nullptr || assembly->state != Assembly::State::collecting) continue;
    if (!assembly->waiting_for.contains(input)) continue;
    assembly->waiting_for.erase(input);
    assembly->flags |= bit(TimesliceFlag::late);
  }
  schedule_->on_given_up(now, input, peer.given_up);
  if (std::find(behind_.begin(), behind_.end(), input) == behind_.end()) behind_.push_back(input);
}

Instant ComputeMachine::next_deadline() const {
  // A schedule is not asked outside of a view: what it waits for there may long be past.
  const Instant asked = takes_part_ ? schedule_->next_deadline() : Instant::never();
  return std::min({next_give_up_, credits_due_, asked});
}

void ComputeMachine::turn(Instant now, Outbox& out) {
  promise_when_connected();
  speak_up();
  give_up(now);
  const std::size_t n = std::min(ready_.size(), out.deliver.room());
  for (std::size_t i = 0; i < n; ++i) out.deliver.push_back({ready_[i]});
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(n));
  const std::size_t b = std::min(built_.size(), out.built.room());
  for (std::size_t i = 0; i < b; ++i) out.built.push_back(built_[i]);
  built_.erase(built_.begin(), built_.begin() + static_cast<std::ptrdiff_t>(b));
  send_schedule_messages(now, out);
  say_bye_when_done();
  owe_waiting_credits(now);
  pay_debts(out);
}

void ComputeMachine::say_bye_when_done() {
  if (said_bye_) return;
  // A node outside of every view has only those to listen to that it is connected with.
  const bool outside = view_.number == 0;
  bool anybody = false;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) {
    const bool counts = outside ? peers_[i].up : view_.inputs.contains(i);
    if (counts && !peers_[i].bye) return;
    anybody = anybody || counts;
  }
  if (!anybody) return;
  said_bye_ = true;
  for (std::uint32_t i = 0; i < peers_.size(); ++i) owe(i, owes_bye);
}

void ComputeMachine::owe(std::uint32_t input, std::uint8_t what) {
  Peer& peer = peers_[input];
  if (peer.owes == 0) debtors_.push_back(input);
  peer.owes |= what;
}

/// Much of it, or the last of a stream that ends, is told at once.
void ComputeMachine::owe_credit(std::uint32_t input) {
  Peer& peer = peers_[input];
  const bool ends = peer.ended != TimesliceIndex::max();
  if (config_.credit_delay == Duration{} || ends || pairs_[input].owes_much_credit()) {
    owe(input, owes_credit);
  } else if (!std::exchange(peer.credit_waits, true)) {
    credits_.push_back(input);
  }
}

void ComputeMachine::owe_waiting_credits(Instant now) {
  if (credits_.empty()) return;
  // Credits since the last turn begin to wait now.
  if (credits_due_ == Instant::never()) credits_due_ = now + config_.credit_delay;
  if (now < credits_due_) return;
  credits_due_ = Instant::never();
  for (const std::uint32_t input : credits_) {
    peers_[input].credit_waits = false;
    owe(input, owes_credit);
  }
  credits_.clear();
}

void ComputeMachine::send_suspicion(std::uint32_t suspect, Outbox& out) {
  const View& view = view_;
  for (std::uint32_t leader = 0; leader < peers_.size(); ++leader) {
    if (!peers_[leader].up || !view.inputs.contains(leader) || leader == suspect) continue;
    out.send(NodeId(leader), config_.control_level, 64, [&](wire::Writer& w) {
      encode(Suspect{NodeId(suspect), view.number}, w);
    });
    return;
  }
}

void ComputeMachine::pay_debts(Outbox& out) {
  while (!debtors_.empty()) {
    const std::uint32_t input = debtors_.back();
    Peer& peer = peers_[input];
    if (!out.has_room(8, 768 + 2 * max_message_bytes(config_.roster))) return;
    if (peer.owes & owes_suspect) send_suspicion(input, out);
    const auto send = [&](auto&& encode_it) {
      out.send(NodeId(input), config_.control_level, 128, encode_it);
    };
    if (peer.up) {
      if (peer.owes & owes_view) {
        out.send(NodeId(input), config_.control_level, max_message_bytes(config_.roster),
                 [&](wire::Writer& w) { encode(view_, w); });
      }
      if (peer.owes & owes_promise) {
        out.send(NodeId(input), config_.control_level, max_message_bytes(config_.roster),
                 [&](wire::Writer& w) { encode(promise_, w); });
      }
      if (peer.owes & owes_hello) {
        send([&](wire::Writer& w) { encode(pairs_[input].hello(), w); });
      }
      if ((peer.owes & owes_credit) && pairs_[input].offered()) {
        send([&](wire::Writer& w) { encode(pairs_[input].credit(), w); });
        pairs_[input].told_credit();
      }
      if (peer.owes & owes_given_up) {
        send([&](wire::Writer& w) {
          encode(GivenUp{view_.number, std::min(peer.given_up, consumed_)}, w);
        });
      }
      const auto say = [&](MessageType type) {
        send([type](wire::Writer& w) { encode_bare(type, w); });
      };
      if (peer.owes & owes_present) say(MessageType::present);
      if (peer.owes & owes_bye) say(MessageType::bye);
    }
    peer.owes = 0;
    debtors_.pop_back();
  }
}

void ComputeMachine::send_schedule_messages(Instant now, Outbox& out) {
  if (!takes_part_) return;
  schedule_->write_messages(now, messages_);
  std::size_t done = 0;
  for (const schedule::Message& m : messages_.view()) {
    if (!out.has_room(1, schedule::Message::capacity + schedule_header)) break;
    ++done;
    if (m.to >= peers_.size() || !peers_[m.to].up) continue;
    const std::span payload(m.bytes.data(), m.size);
    out.send(NodeId(m.to), config_.control_level, m.size + schedule_header,
             [&](wire::Writer& w) { encode_schedule(view_.number, payload, w); });
  }
  messages_.drop_front(done);
}

}  // namespace weft::stream
