// SPDX-License-Identifier: Apache-2.0
#include "process/messenger.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "base/make_error.hpp"
#include "base/units.hpp"

namespace weft {
namespace {

constexpr std::size_t queued_operations = 256;
constexpr std::size_t queued_bytes = 64 << 10;
/// Receivers that save checkpoints may take some time for it; one that saves none takes for ever.
constexpr Duration full_without_a_word = Duration::seconds(2);
/// A launcher that ignores what it heard, since the missed process had not ended then, hears it
/// again.
constexpr Duration look_for_wanted_every = Duration::milliseconds(50);
/// A limit that large is none.
constexpr ByteCount unlimited_outbox(std::uint64_t{1} << 60);
/// Marks the numbers of operations that the machine does not know; its own numbers lack this bit.
constexpr std::uint64_t refused_bit = std::uint64_t{1} << 62;

std::string text_of(const message::OperationState& state) {
  const bool sends = state.kind == message::OperationState::Kind::send;
  return fmt::format("{} rank {} (tag {}, message {})", sends ? "sending to" : "receiving from",
                     state.peer.value(), state.flow.tag.value(), state.serial);
}

message::MessageOptions with_limits(message::MessageOptions options, const Fabric& fabric) {
  options.fabric = fabric.limits();
  return options;
}

}  // namespace

Messenger::Messenger(Fabric& fabric, Waiter& waiter, message::MessageOptions options,
                     const message::OutboxRoom& outbox)
    : fabric_(fabric),
      waiter_(waiter),
      give_up_after_(options.give_up_after),
      incarnation_(options.incarnation),
      keeps_(options.retain),
      is_stored_(options.retain && !options.run.empty()),
      machine_(with_limits(options, fabric), waiter.now(), outbox),
      out_(queued_operations, queued_bytes),
      lanes_(options.nodes) {}

Messenger::~Messenger() {
  for (const auto& [operation, region] : regions_) fabric_.retract(region);
}

Operation Messenger::start_send(NodeId to, const message::FlowKey& flow,
                                std::span<const std::byte> bytes) {
  if (send_now(to, flow, {}, bytes)) return message::Operations::done(bytes.size());
  if (failure_) return refuse(*failure_);
  const bool is_large = bytes.size() > machine_.eager_limit();
  if (is_large && repeats_ != nullptr) look_whether_it_repeats();
  const Operation operation = keeps_ && is_large && keeping_ != nullptr
                                  ? keep_and_send(to, flow, bytes)
                                  : machine_.send(to, flow, bytes);
  if (machine_.waits_for_room() && !has_said_full_) look_for_whole_outbox(to, bytes.size());
  if (keeps_) end_with_full_outbox(operation);
  post_what_can_go();
  // Keeping a long message takes as long as sending one: meanwhile receivers have asked for earlier
  // ones, and they would wait until this process looks.
  // Not after a short one, which may be the word that a receive has matched: what arrives in a turn
  // would come before the message that it matched.
  if (keeps_ && is_large) has_moved_ |= turn(waiter_.now(), 1);
  return operation;
}

void Messenger::look_whether_it_repeats() {
  const bool repeats = repeats_();
  machine_.copy_long(repeats);
  if (!repeats) repeats_ = nullptr;
}

/// A large message is copied, and its time is known.
Operation Messenger::keep_and_send(NodeId to, const message::FlowKey& flow,
                                   std::span<const std::byte> bytes) {
  const Instant begun = waiter_.now();
  const Operation operation = machine_.send(to, flow, bytes);
  keeping_->took(waiter_.now() - begun, ByteCount(bytes.size()));
  return operation;
}

void Messenger::stop_keeping(const std::function<Incarnation(NodeId)>& newest_life) {
  machine_.stop_keeping(newest_life);
  keeps_ = false;
  keeping_ = nullptr;
}

bool Messenger::post_at_once(NodeId to, const message::FlowKey& flow,
                             std::span<const std::byte> head, std::span<const std::byte> bytes) {
  if (failure_) return false;
  const auto post = [&](std::span<const std::byte> header) {
    TxOp op;
    op.service_level = machine_.level_to(to);
    op.peer = to;
    op.segments = {header, bytes};
    return fabric_.post({&op, 1}) == 1;
  };
  return machine_.send_at_once(to, flow, head, bytes, post).has_value();
}

// Now; the rest when there is a turn.
std::size_t Messenger::post_what_can_go() {
  machine_.pump(out_);
  if (out_.tx.empty()) return 0;
  const std::size_t posted = fabric_.post(out_.tx.view());
  out_.posted(posted);
  return posted;
}

Operation Messenger::start_receive(NodeId from, const message::FlowKey& flow,
                                   std::span<std::byte> into) {
  if (into.size() <= machine_.eager_limit() || from == machine_.self()) {
    return machine_.receive(from, flow, into);
  }
  auto region = fabric_.expose(into);
  if (!region) {
    return refuse(
        {region.error().code,
         fmt::format("rank {} cannot register {} bytes to receive from rank {} (tag {}): {}; "
                     "raise the limit of locked memory (ulimit -l), or use --fabric tcp",
                     machine_.self().value(), into.size(), from.value(), flow.tag.value(),
                     region.error().message)});
  }
  const Operation operation = machine_.receive(from, flow, into, region->remote);
  regions_.emplace_back(operation, *region);
  post_what_can_go();  // it asks for the message
  return operation;
}

Operation Messenger::refuse(Error why) {
  const Operation operation(refused_bit | ++refusals_);
  refused_.emplace_back(operation, std::move(why));
  return operation;
}

bool Messenger::is_refused(Operation operation) const {
  return std::any_of(refused_.begin(), refused_.end(),
                     [&](const auto& entry) { return entry.first == operation; });
}

std::optional<Error> Messenger::take_refusal(Operation operation) {
  const auto found = std::find_if(refused_.begin(), refused_.end(),
                                  [&](const auto& entry) { return entry.first == operation; });
  if (found == refused_.end()) return std::nullopt;
  Error why = std::move(found->second);
  refused_.erase(found);
  return why;
}

void Messenger::close_region(Operation operation) {
  const auto found = std::find_if(regions_.begin(), regions_.end(),
                                  [&](const auto& entry) { return entry.first == operation; });
  if (found == regions_.end()) return;
  fabric_.retract(found->second);
  *found = regions_.back();
  regions_.pop_back();
}

/// The caller's memory is its own again, even with operations under way. Unsent messages are kept
/// where processes have several lives; where they have one, nothing is sent any more.
void Messenger::cancel_all() {
  machine_.cancel_all();
  for (const auto& [operation, region] : regions_) fabric_.retract(region);
  regions_.clear();
  if (!failure_) return;
  for (std::uint32_t node = 0; node < machine_.nodes(); ++node) {
    if (NodeId(node) != machine_.self()) fabric_.remove_peer(NodeId(node));
  }
}

void Messenger::end_offenders() {
  for (const NodeId offender : machine_.offenders()) {
    fabric_.remove_peer(offender);
    if (failure_) continue;
    failure_ = corrupt(
        "rank {} speaks another protocol, or its messages are damaged; use the "
        "same version of weft everywhere",
        offender.value());
  }
}

void Messenger::note_divergence() {
  const auto& [receiver, flow, serial] = *machine_.divergence();
  failure_ = corrupt(
      "what this life of rank {} has sent to rank {} (tag {}, up to message {}) differs "
      "from what an earlier one sent; a program that is started anew has to repeat "
      "itself: no clocks, no random numbers without a seed, no input that changes",
      machine_.self().value(), receiver.value(), flow.tag.value(), serial);
}

void Messenger::note_lost_link() {
  failure_ = make_error(ErrorCode::unavailable,
                        "the connection to rank {} through shared memory ended, though the process "
                        "lives, and messages on it are lost; use --fabric tcp",
                        machine_.lost_link()->value());
}

void Messenger::note_lane(const Completion& completion) {
  const NodeId peer = completion.peer;
  if (peer.value() >= lanes_.size()) return;
  if (completion.kind == CompletionKind::peer_up) lanes_[peer.value()] = fabric_.lane(peer);
  if (completion.kind == CompletionKind::peer_down) lanes_[peer.value()] = nullptr;
}

bool Messenger::turn(Instant now, int looks) {
  // What the fabric took at once makes room for the next parts of large messages: it shall have
  // what it takes, as the program may compute for long after this.
  constexpr int most_parts = 16;
  if (!look(now, looks)) return false;
  for (int i = 0; i < most_parts && machine_.is_writing() && look(now, 1);) ++i;
  return true;
}

bool Messenger::look(Instant now, int looks) {
  std::size_t n = 0;
  while (n == 0 && looks-- > 0) n = fabric_.poll(now, completions_);
  for (std::size_t i = 0; i < n; ++i) {
    if (completions_[i].kind != CompletionKind::received) note_lane(completions_[i]);
    machine_.on_completion(now, completions_[i], out_);
  }
  if (!machine_.offenders().empty()) end_offenders();
  if (machine_.divergence() && !failure_) note_divergence();
  if (machine_.lost_link() && !failure_) note_lost_link();
  return post_what_can_go() > 0 || n > 0;
}

template <class Finished>
Result<void> Messenger::turn_until(Finished&& finished, std::span<const Operation> operations,
                                   Duration patience) {
  if (finished()) return {};
  // Messages that are there need no look at the clock, which takes as long as a message does. After
  // one such turn comes one that looks, and takes the news.
  if (!failure_) {
    if (const auto now = waiter_.recently()) has_moved_ |= turn(*now, 1);
  }
  std::optional<Instant> end;
  while (!finished()) {
    const Instant now = waiter_.now();
    if (!end) end = patience < Duration::max() ? now + patience : Instant::never();
    auto worked = work(now, waiter_.looks_per_turn(), operations);
    if (!worked) return std::move(worked).error();
    // News may have ended it: there is nothing left that would end a sleep.
    if (*worked || finished()) continue;
    if (now >= *end) return {};
    look_for_room(now);
    waiter_.idle(now, fabric_, std::min(next_deadline(), *end));
  }
  return {};
}

/// A process that died after its program had returned is started again only when it is missed.
void Messenger::look_for_peer(Instant now, Operation of) {
  const message::OperationState* const state = machine_.find(of);
  if (state != nullptr && !machine_.is_up(state->peer)) waiter_.miss(now, state->peer);
}

/// The same of those that no operation names. They are looked for among all receives: not in each
/// turn.
void Messenger::look_for_wanted(Instant now) {
  if (!machine_.misses_listened() || now < look_for_wanted_at_) return;
  look_for_wanted_at_ = now + look_for_wanted_every;
  wanted_->for_each_wanted([&](NodeId peer) {
    if (peer != machine_.self() && !machine_.is_up(peer)) waiter_.miss(now, peer);
  });
}

/// As an error, since programs show no less: a process that computes looks like one that hangs.
void Messenger::say_silent(NodeId peer, std::span<const Operation> operations) {
  if (!silent_.insert(peer).second) return;
  std::string what = "for its messages";
  for (const Operation operation : operations) {
    const auto* const state = is_ready(operation) ? nullptr : machine_.find(operation);
    if (state != nullptr && state->peer == peer) what = "while " + text_of(*state);
  }
  spdlog::error(
      "rank {} lives, and has answered nothing for {} s since it started: it computes, or is "
      "stopped; rank {} goes on waiting {}",
      peer.value(), give_up_after_.to_seconds(), machine_.self().value(), what);
}

Instant Messenger::next_deadline() {
  const Instant deadline = machine_.next_deadline();
  if (!full_since_ || has_said_full_) return deadline;
  return std::min(deadline, *full_since_ + full_without_a_word);
}

/// As an error, since programs show no less: without a word their user sees a job that hangs.
void Messenger::look_for_room(Instant now) {
  if (has_said_full_) return;
  if (!machine_.waits_for_room()) return full_since_.reset();
  if (!full_since_) full_since_ = now;
  if (now < *full_since_ + full_without_a_word) return;
  has_said_full_ = true;
  const auto full = machine_.full_outbox();
  // Without a limit it ends where memory does, or the disk of --spill.
  const bool has_limit = full.limit < unlimited_outbox;
  spdlog::error(
      "rank {} waits to send to rank {}: its outbox {} and keeps {} for later lives "
      "of other ranks, most of it ({}) for rank {}, until they save checkpoints; let the program "
      "save checkpoints, or use a larger {}, or --outbox-fails",
      machine_.self().value(), full.receiver.value(),
      has_limit ? fmt::format("of {} has no room", to_text(full.limit))
                : "finds no more memory, or its disk is full,",
      to_text(machine_.outbox_bytes()), to_text(full.kept_for_it), full.most_kept_for.value(),
      has_limit ? "--outbox, --spill DIR" : "disk for --spill");
}

/// Ends this process's part in the job when the outbox had no room for the operation's message. A
/// message that is not kept is never sent: its receiver would wait for ever, or take the next one
/// for it.
void Messenger::end_with_full_outbox(Operation operation) {
  const auto* const state = machine_.find(operation);
  if (failure_ || state == nullptr || state->failure != message::Failure::outbox_full) return;
  failure_ = failure(*state);
  std::ranges::fill(lanes_, nullptr);  // which send without a look at `failure_`
}

/// No other message need be forgotten for one that is larger than all of the outbox: its own
/// receiver must save a checkpoint, and may well wait for the sender to do so, too.
void Messenger::look_for_whole_outbox(NodeId to, std::size_t size) {
  const ByteCount limit = machine_.full_outbox().limit;
  if (keeping_ != nullptr || ByteCount(size) <= limit) return;
  has_said_full_ = true;
  spdlog::error(
      "rank {} sends {} to rank {}, more than its whole outbox of {} (--outbox): it waits until "
      "rank {} has saved a checkpoint behind it; use a larger --outbox, --spill DIR, or "
      "--outbox-fails",
      machine_.self().value(), to_text(ByteCount(size)), to.value(), to_text(limit), to.value());
}

Result<bool> Messenger::work(Instant now, int looks, std::span<const Operation> operations) {
  if (auto news = waiter_.news(now); !news && !failure_) failure_ = news.error();
  if (failure_) return *failure_;
  if (keeping_ != nullptr) keeping_->look(now, machine_.outbox_bytes(), machine_.waits_for_room());
  if (std::exchange(has_moved_, false)) waiter_.busy(now);
  if (turn(now, looks)) {
    waiter_.busy(now);
    return true;
  }
  for (const Operation operation : operations) {
    if (!is_ready(operation)) look_for_peer(now, operation);
  }
  if (misses_wanted_ && wanted_ != nullptr) look_for_wanted(now);
  if (now < machine_.next_deadline()) return false;
  // A process that computes from its start on answers nobody, and is not gone.
  if (const auto peer = machine_.overdue(now); peer && fabric_.is_silent(*peer)) {
    say_silent(*peer, operations);
    machine_.excuse(now, *peer);
    return true;
  }
  machine_.on_deadline(now);
  return true;
}

Result<std::size_t> Messenger::wait(Operation operation) {
  if (!refused_.empty()) {
    if (auto why = take_refusal(operation)) return *std::move(why);
  }
  auto good = turn_until([&] { return machine_.is_done(operation) || is_over(); }, {&operation, 1});
  // All is lost, or over without this process.
  if (!good || !machine_.is_done(operation)) cancel_all();
  if (!good) return std::move(good).error();
  const message::OperationState& state = machine_.take(operation);
  if (!regions_.empty()) close_region(operation);
  if (state.failure != message::Failure::none) return failure(state);
  return static_cast<std::size_t>(state.size);
}

Result<bool> Messenger::wait_any(std::span<const Operation> operations, const bool& also,
                                 Duration patience) {
  const auto any_done = [&] { return also || is_any_ready(operations); };
  misses_wanted_ = true;
  auto good = turn_until([&] { return any_done() || is_over(); }, operations, patience);
  misses_wanted_ = false;
  if (good && any_done()) return true;
  if (good && !is_over()) return false;
  if (!good) return std::move(good).error();
  cancel_all();
  return Error{ErrorCode::cancelled, "the job is over"};
}

Result<bool> Messenger::wait_for_queue(NodeId to, const message::Name& message, std::size_t most,
                                       std::span<const Operation> operations, const bool& also,
                                       Duration patience) {
  const auto has_room = [&] {
    return also || machine_.queued_to(to) <= most || !machine_.is_queued(to, message) ||
           is_any_ready(operations);
  };
  misses_wanted_ = true;
  auto good = turn_until([&] { return has_room() || is_over(); }, operations, patience);
  misses_wanted_ = false;
  if (!good) return std::move(good).error();
  if (!has_room() && is_over()) return Error{ErrorCode::cancelled, "the job is over"};
  return has_room();
}

// Waits that turn by themselves, and loops of tests and probes, wait for what they have posted.
Result<void> Messenger::turn_once() {
  misses_wanted_ = true;
  auto worked = work(waiter_.now(), 1, {});
  misses_wanted_ = false;
  if (!worked) return std::move(worked).error();
  return {};
}

bool Messenger::is_done(Operation operation) {
  if (is_ready(operation)) return true;
  const bool goes_on = work(waiter_.now(), 1, {&operation, 1}).ok();
  if (!goes_on || machine_.is_done(operation) || is_over()) return true;
  waiter_.asked_in_vain();
  return false;
}

Result<bool> Messenger::ask_to_begin() {
  if (machine_.self() == NodeId(0)) return true;
  machine_.ask_to_begin();
  auto answered = turn_until([&] { return machine_.may_begin() || missed(); });
  if (!answered) return std::move(answered).error();
  if (failure_) return *failure_;
  return !machine_.all_finished();
}

Result<void> Messenger::serve_until_over(const std::function<void()>& serve) {
  return turn_until([&] {
    serve();
    return waiter_.is_over();
  });
}

Result<void> Messenger::leave(const std::function<void()>& on_over,
                              const std::function<void()>& serve) {
  machine_.finish();
  auto all = turn_until([&] {
    serve();
    return is_over() || missed();
  });
  if (!all) return all;
  if (failure_) return *failure_;
  on_over();
  machine_.let_go();
  return turn_until([&] { return waiter_.is_over() || (machine_.may_leave() && out_.tx.empty()); });
}

bool Messenger::missed() {
  const auto missed = machine_.missed();
  if (!missed) return false;
  failure_ = make_error(ErrorCode::timed_out,
                        "rank {} was gone for {} s while this one waited for the job's end, or to "
                        "begin; --timeout is the limit",
                        missed->value(), give_up_after_.to_seconds());
  return true;
}

Error Messenger::failure_of(message::Failure why, NodeId peer) const {
  if (why == message::Failure::peer_gone) {
    return make_error(ErrorCode::timed_out, "rank {} was gone for {} s; --timeout is the limit",
                      peer.value(), give_up_after_.to_seconds());
  }
  return failure({.kind = message::OperationState::Kind::receive, .failure = why, .peer = peer});
}

Error Messenger::failure(const message::OperationState& state) const {
  using message::Failure;
  const std::string what = text_of(state);
  switch (state.failure) {
    case Failure::peer_gone:
      return make_error(ErrorCode::timed_out,
                        "rank {} was gone for {} s, while {}; --timeout is the limit",
                        state.peer.value(), give_up_after_.to_seconds(), what);
    case Failure::not_kept:
      return make_error(ErrorCode::unavailable,
                        "{}: it does not keep what it sent to an earlier life of this rank; start "
                        "the job with --restart on-failure",
                        what);
    case Failure::too_long:
      return invalid("{}: the message has {} bytes, more than there is room for", what, state.size);
    case Failure::outbox_full:
      return make_error(
          ErrorCode::exhausted,
          "{}: the outbox is full; use a larger --outbox, a --spill directory with more room, or "
          "checkpoints",
          what);
    case Failure::bad_protocol:
      return make_error(ErrorCode::unavailable,
                        "{}: it has another version of weft; use the same everywhere", what);
    case Failure::cancelled:
      return {ErrorCode::cancelled, "the job is over"};
    case Failure::none:
      break;
  }
  return {ErrorCode::io, what};
}

}  // namespace weft
