// SPDX-License-Identifier: Apache-2.0
#include "core/message/pair_in.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "base/copy.hpp"

namespace weft::message {
namespace {

constexpr Serial never = std::numeric_limits<Serial>::max();
/// Stands in a sink's posted receive for the operation.
constexpr Operation of_sink(1);

}  // namespace

void PairIn::rest_idle_flows() {
  for (std::size_t i = 0; i < pending_gets_.size(); ++i) pending_gets_[i].flow->in_use = true;
  for (std::size_t i = 0; i < pending_acks_.size(); ++i) pending_acks_[i].flow->in_use = true;
  // Most messages come without having been asked for, and leave their flow in here.
  std::erase_if(unasked_flows_, [](Flow* flow) {
    flow->has_unasked = !flow->posted.empty();
    return !flow->has_unasked;
  });
  for (Flow* const flow : unasked_flows_) flow->in_use = true;
  flows_.rest(pending_gets_.size() + pending_acks_.size() + unasked_flows_.size());
}

PairIn::Posted* PairIn::find_posted(Flow& flow, Serial serial) {
  const Serial first = flow.next - flow.posted.size();
  if (serial < first || serial >= flow.next) return nullptr;
  Posted& posted = flow.posted[serial - first];
  return posted.operation == Operation{} ? nullptr : &posted;
}

/// Returns the place of the first early message that is not before `serial`. Messages mostly
/// arrive, and are mostly requested, in their order.
std::size_t PairIn::place_of_early(Flow& flow, Serial serial) {
  const auto& early = flow.early;
  ++looks_;
  if (early.empty() || early[early.size() - 1].serial < serial) return early.size();
  std::size_t from = 0, to = early.size() - 1;
  while (from < to) {
    ++looks_;
    const std::size_t middle = from + (to - from) / 2;
    if (early[middle].serial < serial) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

PairIn::Early* PairIn::find_early(Flow& flow, Serial serial) {
  const std::size_t at = place_of_early(flow, serial);
  return at < flow.early.size() && flow.early[at].serial == serial ? &flow.early[at] : nullptr;
}

PairIn::Early& PairIn::insert_early(Flow& flow, Serial serial) {
  const std::size_t at = place_of_early(flow, serial);
  flow.early.emplace_back(serial);
  for (std::size_t i = flow.early.size() - 1; i > at; --i) {
    ++looks_;
    std::swap(flow.early[i - 1], flow.early[i]);
  }
  return flow.early[at];
}

Operation PairIn::receive(const FlowKey& key, std::span<std::byte> into,
                          const RemoteRegion& region) {
  Flow& from = flow(key);
  const Serial serial = from.next++;
  has_begun_ = true;
  const Operation operation = operations_.start(OperationState::Kind::receive, peer_, key, serial);
  Posted& posted = from.posted.emplace_back(operation, into, region);
  ++posted_;
  ++unasked_;
  if (!from.early.empty() && from.early.front().serial == serial) {
    take_early(from, serial, posted);
  } else {
    ask_if_needed(from, serial, posted);
  }
  return operation;
}

void PairIn::listen(const FlowKey& key, Sink& sink, bool is_awaited) {
  Flow& from = flow(key);
  WEFT_CHECK(from.sink == nullptr && from.posted.empty());
  from.sink = &sink;
  from.is_awaited = is_awaited;
  ++sinks_;
  if (is_awaited) ++awaited_sinks_;
  const Serial serial = from.next++;
  has_begun_ = true;
  Posted& posted = from.posted.emplace_back(of_sink, std::span<std::byte>(), RemoteRegion{});
  ++posted_;
  ++unasked_;
  ask_if_needed(from, serial, posted);
  pour_early(from);
}

/// The posted receive of a sink is over, and is that of the next message.
void PairIn::pour(Flow& flow, Posted& posted, std::span<const std::byte> body) {
  hot_ = &flow;
  hot_start_ = eager_header(flow.key, 0, 0)[0];
  is_hot_named_ = named_next_ != nowhere && named_ == flow.key;
  posted.asked = false;
  ++posted_;
  ++unasked_;
  const Serial serial = flow.next++;
  flow.sink->take(body);
  if (!flow.has_unasked || serial < pushed_from(flow)) ask_if_needed(flow, serial, posted);
}

/// Messages that came before those that were missing.
void PairIn::pour_early(Flow& flow) {
  while (!flow.early.empty() && !flow.posted.empty() &&
         flow.early.front().serial + 1 == flow.next) {
    Posted& posted = flow.posted.front();
    const Early early = std::move(flow.early.front());
    flow.early.pop_front();
    give_back(early.credit);
    if (early.is_announced) {
      ask(flow, early.serial, posted);
    } else {
      come(posted);
      pour(flow, posted, early.body.view());
    }
    check_credit();
  }
}

void PairIn::take_early(Flow& flow, Serial serial, Posted& posted) {
  const Early early = std::move(flow.early.front());
  flow.early.pop_front();
  give_back(early.credit);
  if (early.is_announced) return ask(flow, serial, posted);
  come(posted);
  fill(flow, posted, early.body.view());
  check_credit();
}

std::uint64_t PairIn::begin(Incarnation life) {
  ++connection_;
  up_ = false;
  pending_gets_.clear();
  pending_acks_.clear();
  pending_forgets_.clear();
  pending_had_.clear();
  owes_credit_ = owes_diverged_ = is_hot_named_ = false;
  named_next_ = nowhere;
  if (const Incarnation before = std::exchange(life_, life); before != life) {
    tells_ = tells_ || before != Incarnation();
    diverged_.reset();
    flows_.for_each_active([](Flow& flow) {
      flow.before_of = flow.digest_of;
      flow.before = flow.digest;
    });
  }
  spent_ = freed_ = received_ = received_told_ = 0;
  free_announced();
  base_ = granted_ = window_ > held_ ? window_ - held_ : 0;
  return base_;
}

/// A new connection announces them again, for which the peer needs the same credit once more.
void PairIn::free_announced() {
  flows_.for_each_active([&](Flow& flow) {
    for (std::size_t i = 0; i < flow.early.size(); ++i) {
      if (flow.early[i].is_announced) held_ -= std::exchange(flow.early[i].credit, 0);
    }
  });
}

void PairIn::connected(bool pull) {
  up_ = true;
  pull_ = pull;
  owes_diverged_ = diverged_.has_value();
  for (Flow* const flow : std::exchange(unasked_flows_, {})) flow->has_unasked = false;
  // All of them first: when credit is short, to ask for one is to ask for all.
  flows_.for_each_active([&](Flow& flow) {
    flow.asked_until = 0;
    flow.ahead = 1;
    for (std::size_t i = 0; i < flow.posted.size(); ++i) {
      Posted& posted = flow.posted[i];
      if (posted.operation != Operation{} && std::exchange(posted.asked, false)) ++unasked_;
    }
  });
  flows_.for_each_active([&](Flow& flow) {
    const Serial first = flow.next - flow.posted.size();
    for (std::size_t i = 0; i < flow.posted.size(); ++i) {
      Posted& posted = flow.posted[i];
      if (posted.operation != Operation{}) ask_if_needed(flow, first + i, posted);
    }
    if (flow.forgotten > 0) pending_forgets_.emplace_back(flow.key, flow.forgotten);
  });
  flows_.for_each_resting([&](const FlowKey& key, const FlowPlace& place) {
    if (place.forgotten > 0) pending_forgets_.emplace_back(key, place.forgotten);
  });
  if (tells_) tell_what_came();
}

void PairIn::pull() {
  pull_ = true;
  flows_.for_each_active([&](Flow& flow) {
    flow.connection = 0;
    const Serial first = flow.next - flow.posted.size();
    for (std::size_t i = 0; i < flow.posted.size(); ++i) {
      Posted& posted = flow.posted[i];
      if (posted.operation != Operation{}) ask_if_needed(flow, first + i, posted);
    }
  });
}

Serial PairIn::pushed_from(Flow& flow) {
  if (flow.connection != connection_) {
    flow.connection = connection_;
    flow.pushed_from = pull_ ? never : 0;
  }
  return flow.pushed_from;
}

void PairIn::note_pushed(Flow& flow, Serial serial) {
  if (serial < pushed_from(flow)) flow.pushed_from = serial;
}

void PairIn::ask_if_needed(Flow& flow, Serial serial, Posted& posted) {
  if (!up_ || posted.asked) return;
  const bool large = posted.into.size() > options_.eager_limit;
  if (large || serial < pushed_from(flow)) return ask(flow, serial, posted);
  if (!flow.has_unasked) {
    flow.has_unasked = true;
    flow.unasked_from = serial;
    unasked_flows_.push_back(&flow);
  }
  check_credit();
}

void PairIn::ask(Flow& flow, Serial serial, Posted& posted) {
  if (posted.asked || !up_) return;
  posted.asked = true;
  --unasked_;
  if (flow.sink != nullptr) return ask_for_sink(flow, serial);
  pending_gets_.push_back({&flow, serial});
}

/// A sink takes all messages of its flow. After a restart each has to be asked for: a way there and
/// back for each would take long. Most flows have none to repeat, so the rows grow with what comes.
void PairIn::ask_for_sink(Flow& flow, Serial serial) {
  const bool is_row = pull_ && serial < pushed_from(flow) && !flow.asks_singly;
  const Serial end = is_row ? std::min(serial + flow.ahead, pushed_from(flow)) : serial + 1;
  const bool is_enough = !is_row || end < flow.asked_until + flow.ahead / 2;
  if (serial < flow.asked_until && is_enough) return;
  if (is_row) flow.ahead = std::min(flow.ahead * 2, most_ahead);
  for (Serial s = std::max(serial, flow.asked_until); s < end; ++s) {
    pending_gets_.push_back({&flow, s});
  }
  flow.asked_until = std::max(flow.asked_until, end);
}

/// The sink asks for it once more when it gets there.
void PairIn::miss_ahead(Flow& flow, Serial serial) {
  if (serial < flow.next) return;
  flow.asks_singly = true;
  flow.asked_until = std::min(flow.asked_until, serial);
}

/// The peer may be out of credit: it sends messages that it holds back when asked for them.
void PairIn::ask_for_all() {
  for (Flow* const flow : unasked_flows_) {
    flow->has_unasked = false;
    const Serial first = flow->next - flow->posted.size();
    for (Serial s = std::max(first, flow->unasked_from); s < flow->next; ++s) {
      ++looks_;
      Posted& posted = flow->posted[s - first];
      if (posted.operation != Operation{}) ask(*flow, s, posted);
    }
  }
  unasked_flows_.clear();
}

bool PairIn::spend(std::uint64_t cost) {
  spent_ += cost;
  return spent_ <= granted_;
}

void PairIn::give_back(std::uint64_t cost) {
  held_ -= cost;
  freed_ += cost;
}

void PairIn::check_short_credit(std::uint64_t granted_now) {
  if (granted_now - spent_ >= credit_cost(options_.eager_limit)) {
    owes_credit_ = true;
  } else if (unasked_ > 0) {
    ask_for_all();
  }
}

bool PairIn::has_repeated(Flow& flow, Serial serial, ToldDigest digest) {
  const bool is_newest = serial + 1 == flow.digest_of;
  const ToldDigest known = is_newest ? flow.digest : serial + 1 == flow.before_of ? flow.before : 0;
  if (known != 0 && known != digest) {
    diverged_ = Name{flow.key, serial};
    owes_diverged_ = true;
    return false;
  }
  if (is_newest) flow.digest = digest;
  return true;
}

/// A peer that repeats messages only when asked sends new ones before them.
void PairIn::tell_early(const Flow& flow, std::uint64_t bytes) {
  if (options_.early_watch == nullptr || pull_ || flow.sink != nullptr) return;
  options_.early_watch->on_early(peer_, flow.key, bytes);
}

void PairIn::come(const Posted& posted) {
  --posted_;
  if (!posted.asked) --unasked_;
}

bool PairIn::on_next(const NextFrame& frame) {
  const bool is_known = named_next_ != nowhere && next_start(named_next_) == frame.start;
  return is_known &&
         on_eager(
             {.flow = named_, .serial = named_next_, .digest = frame.digest, .body = frame.body});
}

bool PairIn::on_eager(const EagerFrame& frame) {
  Flow& from = flow(frame.flow);
  name(from);
  named_next_ = frame.serial + 1;
  ++received_;
  if (frame.urgent) owes_credit_ = true;
  const std::uint64_t cost = frame.asked ? 0 : credit_cost(frame.body.size());
  if (!spend(cost)) return false;
  if (!frame.asked) note_pushed(from, frame.serial);
  Posted* const posted = find_posted(from, frame.serial);
  if (!has_said(from, frame.serial, frame.digest)) {
    freed_ += cost;
  } else if (posted != nullptr) {
    freed_ += cost;
    come(*posted);
    fill(from, *posted, frame.body);
    if (from.sink != nullptr && !from.early.empty()) pour_early(from);
  } else if (frame.serial < from.next || find_early(from, frame.serial) != nullptr) {
    freed_ += cost;  // it came before
  } else {
    Body body;
    if (!bodies_.keep(frame.body, body)) {
      if (!frame.asked || from.sink == nullptr) return false;
      miss_ahead(from, frame.serial);
      return true;
    }
    Early& early = insert_early(from, frame.serial);
    early.credit = cost;
    early.body = std::move(body);
    held_ += cost;
    tell_early(from, frame.body.size());
  }
  check_credit();
  return true;
}

bool PairIn::on_announce(const Frame& frame) {
  Flow& from = flow(frame.flow);
  ++received_;
  const std::uint64_t cost = credit_cost(0);
  if (!spend(cost)) return false;
  note_pushed(from, frame.serial);
  Posted* const posted = find_posted(from, frame.serial);
  if (!has_said(from, frame.serial, frame.digest)) {
    freed_ += cost;
  } else if (posted != nullptr) {
    freed_ += cost;
    ask(from, frame.serial, *posted);
  } else if (frame.serial < from.next) {
    freed_ += cost;
    pending_acks_.push_back({&from, frame.serial});
  } else if (Early* const early = find_early(from, frame.serial)) {
    const bool was_freed = early->is_announced && early->credit == 0;
    if (was_freed) early->credit = cost;
    (was_freed ? held_ : freed_) += cost;
  } else {
    Early& announced = insert_early(from, frame.serial);
    announced.is_announced = true;
    announced.credit = cost;
    held_ += cost;
    tell_early(from, frame.size);
  }
  check_credit();
  return true;
}

bool PairIn::on_written(const Frame& frame) {
  Flow& from = flow(frame.flow);
  ++received_;
  owes_credit_ = true;
  Posted* const posted = find_posted(from, frame.serial);
  if (posted == nullptr || !posted->asked || frame.size > posted->into.size()) return false;
  if (!has_said(from, frame.serial, frame.digest)) return true;
  come(*posted);
  finish(from, *posted, frame.size, Failure::none);
  return true;
}

void PairIn::on_gone(const Frame& frame) {
  Flow& from = flow(frame.flow);
  Posted* const posted = find_posted(from, frame.serial);
  if (posted == nullptr && from.sink != nullptr) miss_ahead(from, frame.serial);
  if (posted == nullptr || !posted->asked) return;
  come(*posted);
  finish(from, *posted, 0, Failure::not_kept);
}

void PairIn::on_too_long(const Frame& frame) {
  Flow& from = flow(frame.flow);
  Posted* const posted = find_posted(from, frame.serial);
  if (posted == nullptr || !posted->asked) return;
  come(*posted);
  finish(from, *posted, frame.size, Failure::too_long);
}

void PairIn::deliver(const FlowKey& key, Serial serial, std::span<const std::byte> body) {
  Flow& from = flow(key);
  if (Posted* const posted = find_posted(from, serial)) {
    come(*posted);
    return fill(from, *posted, body);
  }
  Early& early = insert_early(from, serial);
  WEFT_CHECK(bodies_.keep(body, early.body), "no memory for a message of {} bytes", body.size());
}

void PairIn::fill(Flow& flow, Posted& posted, std::span<const std::byte> body) {
  if (flow.sink != nullptr) return pour(flow, posted, body);
  if (body.size() > posted.into.size()) {
    return finish(flow, posted, body.size(), Failure::too_long);
  }
  copy_bytes(posted.into.data(), body.data(), body.size());
  finish(flow, posted, body.size(), Failure::none);
}

void PairIn::finish(Flow& flow, Posted& posted, std::uint64_t size, Failure failure) {
  if (flow.sink != nullptr) {
    flow.posted.clear();
    --sinks_;
    if (flow.is_awaited) --awaited_sinks_;
    if (hot_ == &flow) hot_ = nullptr;
    return flow.sink->fail(failure);
  }
  operations_.finish(std::exchange(posted.operation, {}), size, failure);
  while (!flow.posted.empty() && flow.posted.front().operation == Operation{}) {
    flow.posted.pop_front();
  }
}

void PairIn::fail_all(Failure failure) {
  flows_.for_each_active([&](Flow& flow) {
    for (std::size_t i = flow.posted.size(); i-- > 0;) {
      Posted& posted = flow.posted[i];
      if (posted.operation == Operation{}) continue;
      come(posted);
      finish(flow, posted, 0, failure);
    }
  });
}

void PairIn::store(StoredPair& into) {
  const auto add = [&](const FlowKey& key, const FlowPlace& place) {
    into.receives.push_back({.flow = key, .next = place.next, .digest = place.digest});
  };
  flows_.for_each_active([&](Flow& flow) { add(flow.key, flow.place()); });
  flows_.for_each_resting([&](const FlowKey& key, FlowPlace& place) { add(key, place); });
}

void PairIn::resume(const StoredPair& from) {
  for (const StoredReceives& stored : from.receives) {
    Flow& to = flow(stored.flow);
    WEFT_CHECK(to.posted.empty());
    to.next = to.digest_of = stored.next;
    to.digest = static_cast<ToldDigest>(stored.digest);
    while (!to.early.empty() && to.early.front().serial < stored.next) {
      give_back(to.early.front().credit);
      to.early.pop_front();
    }
  }
  has_begun_ = tells_ = true;
  if (up_) tell_what_came();
  forget(from.receives);
  check_credit();
}

void PairIn::forget(std::span<const StoredReceives> before) {
  for (const StoredReceives& stored : before) {
    if (stored.next == 0) continue;
    Flow* const active = flows_.find_active(stored.flow);
    FlowPlace* const resting = flows_.find_resting(stored.flow);
    if (active == nullptr && resting == nullptr) continue;
    Serial& forgotten = active != nullptr ? active->forgotten : resting->forgotten;
    if (forgotten >= stored.next) continue;
    forgotten = stored.next;
    if (up_) pending_forgets_.emplace_back(stored.flow, forgotten);
  }
}

bool PairIn::holds_any() const {
  bool any = false;
  flows_.for_each_active([&](const Flow& flow) { any = any || !flow.is_idle(); });
  return any;
}

std::uint64_t PairIn::started() const {
  std::uint64_t sum = 0;
  flows_.for_each_active([&](const Flow& flow) { sum += flow.place().next; });
  flows_.for_each_resting([&](const FlowKey&, const FlowPlace& place) { sum += place.next; });
  return sum;
}

bool PairIn::say(const Frame& frame, TransmitQueue& out) {
  if (!out.has_room(1, longest_control_frame)) return false;
  out.send(peer_, options_.level_to(peer_), longest_control_frame,
           [&](wire::Writer& w) { encode(w, frame); });
  return true;
}

bool PairIn::pump_gets(TransmitQueue& out) {
  for (; !pending_gets_.empty(); pending_gets_.pop_front()) {
    const auto [flow, serial] = pending_gets_.front();
    const bool is_ahead = flow->sink != nullptr && serial >= flow->next;
    const Posted* const posted =
        is_ahead && !flow->posted.empty() ? &flow->posted.front() : find_posted(*flow, serial);
    if (posted == nullptr) continue;  // it came by itself
    if (!say({.kind = FrameKind::get,
              .flow = flow->key,
              .serial = serial,
              .size = posted->into.size(),
              .region = posted->region},
             out)) {
      return false;
    }
  }
  return true;
}

bool PairIn::pump(TransmitQueue& out) {
  if (!up_) return true;
  if (owes_diverged_) {
    const auto [key, serial] = *diverged_;
    if (!say({.kind = FrameKind::diverged, .flow = key, .serial = serial}, out)) return false;
    owes_diverged_ = false;
  }
  for (; !pending_had_.empty(); pending_had_.pop_front()) {
    const auto [key, serial, digest] = pending_had_.front();
    const Frame had{.kind = FrameKind::had, .flow = key, .serial = serial, .digest = digest};
    if (!say(had, out)) return false;
  }
  if (!pump_gets(out)) return false;
  for (; !pending_acks_.empty(); pending_acks_.pop_front()) {
    const auto [flow, serial] = pending_acks_.front();
    const Frame have{.kind = FrameKind::have,
                     .flow = flow->key,
                     .serial = serial,
                     .digest = serial + 1 == flow->digest_of ? flow->digest : 0};
    if (!say(have, out)) return false;
  }
  for (; !pending_forgets_.empty(); pending_forgets_.pop_front()) {
    const auto [key, serial] = pending_forgets_.front();
    if (!say({.kind = FrameKind::forget, .flow = key, .serial = serial}, out)) return false;
  }
  if (owes_credit_) {
    const std::uint64_t granted = base_ + freed_;
    if (!say({.kind = FrameKind::credit, .granted = granted, .received = received_}, out)) {
      return false;
    }
    granted_ = granted;
    received_told_ = received_;
    owes_credit_ = false;
  }
  return true;
}

}  // namespace weft::message
