// SPDX-License-Identifier: Apache-2.0
// The data path of an input node; agreeing on views is in input_views.cpp.
#include "core/stream/input_machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/make_error.hpp"

namespace weft::stream {

using schedule::Readiness;
namespace {

/// A Written may wait for the contributions that begin in the same turn, but not for large ones:
/// its compute node can use earlier contributions at once.
constexpr std::uint64_t large_contribution = 64 << 10;
/// An input node fetches so many bytes of a contribution ahead: after them the processor has
/// recognized the stride, and fetches the rest by itself.
constexpr std::size_t prefetched = 1 << 10;
constexpr std::size_t cache_line = 64;
/// No stream comes to so many microslices, and numbers of up to twice as many can be reckoned with.
constexpr std::uint64_t most_microslices = std::uint64_t{1} << 62;

}  // namespace

InputMachine::InputMachine(const InputConfig& config, InputBuffer& buffer,
                           std::unique_ptr<schedule::InputSchedule> schedule)
    : config_(config),
      buffer_(buffer),
      schedule_(std::move(schedule)),
      leader_(config.roster, config.self, config.end, config.start_by, config.promise_timeout,
              config.majority_only),
      peers_(config.roster.nodes()),
      hellos_(config.roster.computes),
      // A compute node would build timeslices again that are done and that no view can name.
      window_(std::min(config.window, max_done_words(config.roster) * 64)),
      built_before_(config.roster.computes, config.most_built_before),
      lacks_credit_(config.roster.computes, TimesliceIndex::max()),
      newest_given_up_(config.roster.computes),
      messages_(256),
      early_(std::size_t{64} * config.roster.computes) {
  WEFT_CHECK(config.self < config.roster.inputs && config.microslices_per_timeslice > 0);
  view_.inputs = IndexSet(config.roster.inputs);
  view_.computes = IndexSet(config.roster.computes);
  for (std::uint32_t c = 0; c < config.roster.computes; ++c) {
    pairs_.emplace_back(config.roster.compute_node(c), c);
  }
  peers_[config.self].up = true;
  remembers_ = !config.restarted;
}

void InputMachine::on_completion(Instant now, const Completion& completion) {
  if (completion.peer.value() >= peers_.size()) return;
  const bool is_of_transmission = completion.kind == CompletionKind::written ||
                                  completion.kind == CompletionKind::failed ||
                                  completion.kind == CompletionKind::sent;
  if (!is_of_transmission) ask_schedule_ = true;
  switch (completion.kind) {
    case CompletionKind::received:
      on_message(now, completion.peer, completion.data);
      break;
    case CompletionKind::written:
    case CompletionKind::failed:
      on_write_completed(completion);
      break;
    case CompletionKind::peer_up:
      on_peer_up(completion.peer, completion.incarnation);
      break;
    case CompletionKind::peer_down:
      on_peer_down(completion.peer);
      break;
    case CompletionKind::sent:
      break;
  }
}

void InputMachine::on_write_completed(const Completion& completion) {
  const std::uint32_t pair = PairSender::pair_of(completion.context);
  if (!PairSender::is_write(completion.context) || pair >= pairs_.size()) return;
  if (writes_out_ > 0) --writes_out_;
  // A record's number means nothing in another view.
  if (!PairSender::is_of_view(completion.context, views_)) return;
  if (writes_out_of_view_ > 0) --writes_out_of_view_;
  pairs_[pair].write_completed(PairSender::record_of(completion.context));
  settle(pair);
}

void InputMachine::on_message(Instant now, NodeId peer, std::span<const std::byte> bytes) {
  bool understood = false;
  peers_[peer.value()].heard = now;
  if (message_type(bytes) == MessageType::bye) {
    peers_[peer.value()].bye = true;
    understood = true;
  } else if (on_leader_message(now, peer, bytes)) {
    understood = true;
  } else if (config_.roster.is_compute(peer)) {
    understood = on_compute_message(now, config_.roster.compute_index(peer), bytes);
  }
  if (!understood) ++counters_.refused_messages;
}

bool InputMachine::on_compute_message(Instant now, std::uint32_t compute,
                                      std::span<const std::byte> bytes) {
  switch (message_type(bytes)) {
    case MessageType::hello:
      if (const auto hello = decode_hello(bytes)) {
        hellos_[compute] = *hello;
        open_pair(compute);
        return true;
      }
      return false;
    case MessageType::credit:
      if (const auto credit = decode_credit(bytes)) {
        on_credit(now, compute, *credit);
        return true;
      }
      return false;
    case MessageType::given_up:
      if (const auto given_up = decode_given_up(bytes)) {
        return on_given_up(compute, *given_up);
      }
      return false;
    case MessageType::present:
      return true;
    case MessageType::schedule:
      return on_schedule_message(now, compute, bytes);
    default:
      return false;
  }
}

bool InputMachine::on_schedule_message(Instant now, std::uint32_t compute,
                                       std::span<const std::byte> bytes) {
  const auto message = decode_schedule(bytes);
  if (!message) return false;
  if (message->view > view_.number) return early_.keep(compute, message->view, message->payload);
  if (message->view == view_.number && view_.computes.contains(compute)) {
    schedule_->on_message(now, view_.computes.rank(compute), message->payload);
  }
  return true;
}

void InputMachine::on_credit(Instant now, std::uint32_t compute, const Credit& credit) {
  PairSender& pair = pairs_[compute];
  if (!pair.on_credit(credit)) {
    ++counters_.refused_messages;
    return;
  }
  while (const auto acknowledged = pair.take_acknowledged()) {
    if (acknowledged->timeslice >= view_.first) {
      schedule_->on_acknowledged(now, acknowledged->timeslice, now - acknowledged->started);
    }
  }
  settle(compute);
}

void InputMachine::settle(std::uint32_t compute) {
  lacks_credit_[compute] = TimesliceIndex::max();
  // Once a node is on its way out, only timeslices promised to be done count as done.
  if (!pairs_[compute].is_open()) return;
  bool any = false;
  while (const auto t = pairs_[compute].take_consumed()) {
    window_.mark_done(*t);
    any = true;
  }
  if (any) {
    ask_schedule_ = true;
    free_consumed();
  }
  pass_given_up();
}

/// One that is dropped since its view has not come here yet is not said again before the compute
/// node gives up on more: all contributions until then would be sent in vain.
bool InputMachine::on_given_up(std::uint32_t compute, const GivenUp& given_up) {
  if (given_up.below.value() > most_microslices / config_.microslices_per_timeslice) return false;
  if (given_up.view >= newest_given_up_[compute].view) newest_given_up_[compute] = given_up;
  if (promised_ && prepare_) return true;
  const bool is_of_view = given_up.view == view_.number && view_.computes.contains(compute);
  if (!is_of_view || !takes_part_) return true;
  TimesliceIndex& below = given_up_[view_.computes.rank(compute)];
  below = std::max(below, given_up.below);
  pass_given_up();
  return true;
}

/// Its compute node does without this node's contribution, and it has not been sent.
bool InputMachine::is_given_up(TimesliceIndex t) const {
  return t >= view_.first && t < given_up_[view_.grid().compute_of(t)];
}

/// The first timeslice from t on that some compute node waits for.
TimesliceIndex InputMachine::not_given_up_from(TimesliceIndex t) const {
  const auto grid = view_.grid();
  TimesliceIndex lowest = TimesliceIndex::max();
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    const std::uint64_t round = grid.round_from(std::max(t, given_up_[rank]), rank);
    lowest = std::min(lowest, grid.timeslice(round, rank));
  }
  return lowest;
}

/// Given-up timeslices are done as far as this node is concerned, and need no room any more. Once
/// the node has promised, only those are done that it promised.
void InputMachine::pass_given_up() {
  if (!takes_part_ || (promised_ && prepare_)) return;
  const TimesliceIndex before = window_.oldest();
  for (;;) {
    const TimesliceIndex t = window_.oldest();
    const bool waits = window_.state(t) == SendWindow::State::waiting;
    if (!waits || t >= end() || !is_given_up(t)) break;
    if (t < window_.next()) {
      window_.mark_done(t);
      continue;
    }
    // Nothing is under way. A node that was stopped for long passes over millions in one step.
    window_.restart_at(std::min(end(), not_given_up_from(t)));
  }
  if (window_.oldest() == before) return;
  free_consumed();
  if (!source_ended_) skip_source_to(window_.oldest());
}

/// The source skips timeslices below t when it has not come that far.
void InputMachine::skip_source_to(TimesliceIndex t) {
  const std::uint64_t wanted = first_microslice(t);
  if (wanted <= buffer_.next()) return;
  buffer_.restart_at(wanted);
  seek_ = wanted;
  source_ended_ = false;
}

void InputMachine::free_consumed() {
  const std::uint64_t keep = first_microslice(window_.oldest());
  buffer_.release_before(std::min(keep, buffer_.next()));
}

TimesliceIndex InputMachine::own_end() const {
  if (!source_ended_) return TimesliceIndex::max();
  const std::uint64_t n = config_.microslices_per_timeslice;
  return TimesliceIndex((buffer_.next() + n - 1) / n);
}

TimesliceIndex InputMachine::end() const {
  return std::min(own_end(), view_.end);
}

std::uint32_t InputMachine::owner(TimesliceIndex t) const {
  return members_[view_.grid().compute_of(t)];
}

std::uint64_t InputMachine::first_microslice(TimesliceIndex t) const {
  return t.value() * config_.microslices_per_timeslice;
}

bool InputMachine::has_data(TimesliceIndex t) const {
  const std::uint64_t first = first_microslice(t);
  return first >= buffer_.oldest() && (first + whole_contribution() <= buffer_.next() ||
                                       (source_ended_ && first < buffer_.next()));
}

MicrosliceRun InputMachine::content(TimesliceIndex t) const {
  const std::uint64_t first = first_microslice(t);
  const std::uint64_t count = std::min(whole_contribution(), buffer_.next() - first);
  return buffer_.run(first, static_cast<std::uint32_t>(count));
}

bool InputMachine::needs_more_room() const {
  const TimesliceIndex t = window_.oldest();
  return takes_part_ && t < end() && !has_data(t) && buffer_.oldest() == first_microslice(t);
}

Readiness InputMachine::readiness(TimesliceIndex t) const {
  if (t >= end()) return Readiness::after_end;
  if (members_.empty() || t < view_.first) return Readiness::unreachable;
  if (window_.state(t) != SendWindow::State::waiting) return Readiness::started;
  const std::uint32_t rank = view_.grid().compute_of(t);
  if (t < given_up_[rank]) return Readiness::started;
  if (lacks_credit_[members_[rank]] == t) return Readiness::no_credit;
  // Asked about many timeslices in a turn, and the cheapest question to answer.
  if (!has_data(t)) return Readiness::no_data;
  if (!window_.covers(t)) return Readiness::no_credit;
  if (t > next_of(rank)) return Readiness::no_credit;  // every pair's order is ascending
  const PairSender& pair = pairs_[members_[rank]];
  if (!pair.is_open()) return Readiness::unreachable;
  const std::size_t bytes = content(t).bytes();
  // One that never fits is let through: starting it reports the error.
  if (bytes > fits(pair)) return Readiness::sendable;
  if (pair.has_credit(bytes)) return Readiness::sendable;
  lacks_credit_[members_[rank]] = t;
  return Readiness::no_credit;
}

TimesliceIndex InputMachine::next_of(std::uint32_t rank) const {
  const auto grid = view_.grid();
  std::uint64_t& round = next_round_[rank];
  const TimesliceIndex over = std::max(window_.oldest(), given_up_[rank]);  // all below it
  if (grid.timeslice(round, rank) < over) round = grid.round_from(over, rank);
  while (window_.state(grid.timeslice(round, rank)) != SendWindow::State::waiting) ++round;
  return grid.timeslice(round, rank);
}

std::uint64_t InputMachine::fits(const PairSender& pair) const {
  return std::min<std::uint64_t>(pair.ring_bytes(), config_.largest_contribution);
}

Error InputMachine::too_large(TimesliceIndex t, std::uint64_t bytes, const PairSender& pair) const {
  if (bytes > config_.largest_contribution) {
    return invalid(
        "timeslice {}: a contribution of {} bytes is more than the {} that can be sent at once: "
        "lower --microslices-per-timeslice",
        t.value(), bytes, config_.largest_contribution);
  }
  return invalid(
      "timeslice {}: a contribution of {} bytes does not fit the buffer of {} per pair: raise "
      "--buffer",
      t.value(), bytes, pair.ring_bytes());
}

void InputMachine::start(Instant now, TimesliceIndex t, Outbox& out) {
  WEFT_CHECK(has_data(t), "timeslice {} has no data", t.value());
  const MicrosliceRun run = content(t);
  SendWindow::Slot& slot = window_.at(t);
  slot.owner = owner(t);
  PairSender& pair = pairs_[slot.owner];
  if (run.bytes() > fits(pair)) {
    failure_ = too_large(t, run.bytes(), pair);
    return;
  }
  ContributionDescriptor descriptor;
  descriptor.timeslice = t.value();
  descriptor.size = static_cast<std::uint32_t>(run.bytes());
  descriptor.microslices = run.count;
  if (run.count < whole_contribution()) {
    descriptor.microslices |= static_cast<std::uint32_t>(ContributionFlag::missing_microslices);
  }
  if (slot.repeated || t < view_.unsure_below()) {
    descriptor.microslices |= static_cast<std::uint32_t>(ContributionFlag::repeated);
    ++counters_.repeated;
  }
  const std::size_t before = out.tx.size();
  pair.start(now, descriptor, run.segments, config_.data_level, out);
  writes_out_ += out.tx.size() - before;
  writes_out_of_view_ += out.tx.size() - before;
  slot.state = SendWindow::State::started;
  owe(config_.roster.compute_node(slot.owner).value(), owes_written);
  is_large_ = run.bytes() >= large_contribution;
  const std::uint32_t computes = view_.grid().computes;
  if (computes > 1 && t == last_started_.plus(computes)) prefetch(t.plus(computes));
  last_started_ = t;
  ++counters_.contributions;
  counters_.bytes += run.bytes();
}

/// The processor fetches contributions that go in order by itself. When a compute node gets several
/// in a row, the processor would wait for each cache line without this.
void InputMachine::prefetch(TimesliceIndex t) const {
  if (!has_data(t)) return;
  for (const auto segment : content(t).segments) {
    for (std::size_t i = 0; i < std::min(segment.size(), prefetched); i += cache_line) {
      __builtin_prefetch(segment.data() + i);
    }
  }
}

/// Whether the schedule might choose anything else than to wait: it has a deadline, or something
/// has happened since it was asked last.
bool InputMachine::schedule_may_choose(Instant now) {
  const std::uint64_t data = std::exchange(data_seen_, buffer_.next());
  const bool had_ended = std::exchange(end_seen_, source_ended_);
  const bool has_data = data != data_seen_ || had_ended != end_seen_;
  if (has_data || now >= ask_again_) ask_schedule_ = true;
  if (!ask_schedule_) deadline_ = ask_again_;
  return ask_schedule_;
}

void InputMachine::send_scheduled(Instant now, Outbox& out) {
  deadline_ = Instant::never();
  if (members_.empty() || !schedule_may_choose(now)) return;
  while (!failure_) {
    if (!out.has_room(PairSender::operations, 0)) {
      deadline_ = now;
      return;
    }
    const schedule::Choice choice = schedule_->choose(now, *this);
    if (choice.kind == schedule::Choice::Kind::wait) {
      deadline_ = ask_again_ = choice.ask_again;
      ask_schedule_ = false;
      const bool waits = readiness(choice.timeslice) == Readiness::no_credit;
      if (waits && !waiting_for_credit_) ++counters_.credit_waits;
      waiting_for_credit_ = waits;
      return;
    }
    waiting_for_credit_ = false;
    start(now, choice.timeslice, out);
    schedule_->on_started(now, choice.timeslice);
    if (is_large_) pay_debts(out);
  }
}

void InputMachine::send_schedule_messages(Instant now, Outbox& out) {
  schedule_->write_messages(now, messages_);
  std::size_t done = 0;
  for (const schedule::Message& m : messages_.view()) {
    if (!out.has_room(1, schedule::Message::capacity + schedule_header)) break;
    ++done;
    if (m.to >= members_.size()) continue;
    const std::span payload(m.bytes.data(), m.size);
    out.send(config_.roster.compute_node(members_[m.to]), config_.control_level,
             m.size + schedule_header,
             [&](wire::Writer& w) { encode_schedule(view_.number, payload, w); });
  }
  messages_.drop_front(done);
}

bool InputMachine::pay(std::uint32_t node, std::uint8_t what, Outbox& out) {
  const bool small = what == owes_written || what == owes_bye || what == owes_probe;
  const std::size_t bound = small ? 64 : max_message_bytes(config_.roster);
  if (!out.has_room(1, bound)) return false;
  const NodeId peer(node);
  out.send(peer, config_.control_level, bound, [&](wire::Writer& w) {
    switch (what) {
      case owes_written: {
        const PairSender& pair = pairs_[config_.roster.compute_index(peer)];
        encode(Written{pair.view(), pair.written(), own_end()}, w);
        break;
      }
      case owes_view:
        encode(view_, w);
        break;
      case owes_prepare:
        encode(*leader_.pending(), w);
        break;
      case owes_promise:
        encode(promise_, w);
        break;
      case owes_outside:
        encode(Promise{.number = view_.number, .next = window_.next()}, w);
        break;
      default:
        encode_bare(what == owes_probe ? MessageType::probe : MessageType::bye, w);
    }
  });
  return true;
}

void InputMachine::pay_debts(Outbox& out) {
  while (!debtors_.empty()) {
    const std::uint32_t node = debtors_.back();
    Peer& peer = peers_[node];
    if (!peer.up || node == config_.self) peer.owes = 0;
    // Views go before the prepare that builds on them, and bye comes last.
    for (const std::uint8_t what : {owes_view, owes_written, owes_promise, owes_outside,
                                    owes_prepare, owes_probe, owes_bye}) {
      if ((peer.owes & what) == 0) continue;
      if (what == owes_prepare && !leader_.pending()) continue;
      if (what == owes_outside && takes_part_) continue;
      if (!pay(node, what, out)) return;
      peer.owes = static_cast<std::uint8_t>(peer.owes & ~what);
    }
    peer.owes = 0;
    debtors_.pop_back();
  }
}

void InputMachine::turn(Instant now, Outbox& out) {
  lead(now);
  promise_when_connected();
  speak_up();
  send_scheduled(now, out);
  schedule_->take_intervals(out.intervals);
  send_schedule_messages(now, out);
  say_bye_when_done();
  send_suspects(now, out);
  pay_debts(out);
  if (view_.number == 0 && config_.start_by > now) {
    deadline_ = std::min(deadline_, config_.start_by);
  }
  deadline_ = std::min(deadline_, leader_.next_deadline());
  watch_for_stall(now, out);
}

std::optional<std::uint32_t> InputMachine::holds_up() const {
  const TimesliceIndex t = window_.oldest();
  if (!takes_part_ || prepare_) return std::nullopt;
  if (said_bye_) {
    const auto silent = std::find_if(members_.begin(), members_.end(), [&](std::uint32_t c) {
      const Peer& peer = peers_[config_.roster.compute_node(c).value()];
      return peer.up && !peer.bye;
    });
    return silent == members_.end() ? std::nullopt : std::optional(*silent);
  }
  if (t >= end()) return std::nullopt;
  if (window_.state(t) == SendWindow::State::waiting && !has_data(t)) return std::nullopt;
  return owner(t);
}

/// A node whose sink is slow holds up the stream as well, but answers. A process that is stopped
/// does not, while its kernel keeps the connection alive.
void InputMachine::watch_for_stall(Instant now, Outbox& out) {
  if (config_.stall_timeout == Duration::max()) return;
  const Duration step = config_.stall_timeout / 8;
  const Instant next_look = stall_.looked + step;
  if (now >= stall_.looked && now < next_look) {
    deadline_ = std::min(deadline_, next_look);
    return;
  }
  // Was this node itself away for so long, or its clock set? Then others' silence tells nothing.
  const bool was_away = now < stall_.looked || now - stall_.looked > step * 4;
  stall_.looked = now;
  deadline_ = std::min(deadline_, now + step);
  const auto compute = holds_up();
  if (!compute || was_away || stall_.compute != compute) {
    stall_.compute = compute;
    stall_.since = stall_.asked = now;
    return;
  }
  const NodeId node = config_.roster.compute_node(*compute);
  const Instant silent_since = std::max(stall_.since, peers_[node.value()].heard);
  if (!peers_[node.value()].up) return;
  if (now - silent_since >= config_.stall_timeout && !out.hang_up.full()) {
    out.hang_up.push_back(node);
    stall_.compute.reset();
  } else if (now - std::max(silent_since, stall_.asked) >= step * 2) {
    owe(node.value(), owes_probe);
    stall_.asked = now;
  }
}

void InputMachine::say_bye_when_done() {
  if (!takes_part_) return;
  const TimesliceIndex last = end();
  if (last == TimesliceIndex::max()) return;
  if (source_ended_ && !told_end_) {
    // Compute nodes must learn where this stream ends even if they got nothing of late.
    told_end_ = true;
    for (const std::uint32_t c : members_) {
      owe(config_.roster.compute_node(c).value(), owes_written);
    }
  }
  if (said_bye_ || window_.oldest() < last) return;
  said_bye_ = true;
  owe_all(owes_bye);
}

void InputMachine::owe(std::uint32_t node, std::uint8_t what) {
  Peer& peer = peers_[node];
  if (peer.owes == 0) debtors_.push_back(node);
  peer.owes |= what;
}

void InputMachine::owe_all(std::uint8_t what) {
  for (std::uint32_t node = 0; node < peers_.size(); ++node) {
    if (node != config_.self && peers_[node].up) owe(node, what);
  }
}

bool InputMachine::finished() const {
  if (!said_bye_) return false;
  return std::all_of(members_.begin(), members_.end(), [&](std::uint32_t c) {
    const Peer& peer = peers_[config_.roster.compute_node(c).value()];
    return peer.bye || !peer.up;
  });
}

std::vector<BuiltBy> InputMachine::built_by() const {
  std::vector<BuiltBy> built = built_before_.runs();
  const auto grid = view_.grid();
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    const std::uint64_t rounds = grid.round_from(window_.oldest(), rank);
    if (rounds == 0) break;
    built.push_back({members_[rank], {grid.timeslice(0, rank), grid.computes, rounds}});
  }
  return built;
}

std::string InputMachine::describe() const {
  return fmt::format(
      "input {}: view {} from {} ({} inputs, {} computes) takes part {} end {}, consumed {}, next "
      "{}, microslices [{}, {}), prepare {} promised {}, said bye {}",
      config_.self, view_.number, view_.first.value(), view_.inputs.count(), view_.computes.count(),
      takes_part_, end().value(), window_.oldest().value(), window_.next().value(),
      buffer_.oldest(), buffer_.next(), prepare_ ? prepare_->number : 0, promised_, said_bye_);
}

std::optional<std::uint64_t> InputMachine::take_seek() {
  return std::exchange(seek_, std::nullopt);
}

}  // namespace weft::stream
