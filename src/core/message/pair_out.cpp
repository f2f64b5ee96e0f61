// SPDX-License-Identifier: Apache-2.0
#include "core/message/pair_out.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

namespace weft::message {
namespace {

constexpr std::uint32_t none = 0xffff'ffff;
/// Entries of messages that left in another way.
constexpr std::size_t most_unneeded = 4096;

}  // namespace

void PairOut::rest_idle_flows() {
  named_ = nullptr;
  const auto mark = [](const Place& place) {
    if (place.flow != nullptr) place.flow->in_use = true;
  };
  for (std::size_t i = 0; i < pushes_.size(); ++i) mark(pushes_[i].place);
  for (std::size_t i = 0; i < answers_.size(); ++i) mark(answers_[i].place);
  for (std::size_t i = 0; i < writing_.size(); ++i) mark(writing_[i].place);
  for (std::size_t i = 0; i < unheard_.size(); ++i) mark(unheard_[i].place);
  for (std::size_t i = 0; i < uncopied_.size(); ++i) mark(uncopied_[i]);
  for (const Write& write : writes_) mark(write.place);
  flows_.rest(pushes_.size() + answers_.size() + writing_.size() + unheard_.size() +
              uncopied_.size() + writes_.size());
}

Operation PairOut::send(const FlowKey& key, std::span<const std::byte> bytes) {
  Flow& to = flow(key);
  const Serial serial = to.next();
  Kept kept{.bytes = bytes, .order = next_order_};
  Operation operation = Operations::done(bytes.size());
  const bool copies = !is_large(bytes) || options_.retain || options_.copies_long;
  bool is_copied = copies && bodies_.keep(bytes, kept.body) != nullptr;
  if (copies && !is_copied && heard_ > settled_) {
    settle(0);  // the archive takes less room
    is_copied = bodies_.keep(bytes, kept.body) != nullptr;
  }
  if (is_copied) {
    kept.bytes = kept.body.view();
  } else {
    operation = operations_.start(OperationState::Kind::send, peer_, key, serial);
    if (options_.retain && options_.fails_when_full) {
      operations_.finish(operation, 0, Failure::outbox_full);
      return operation;
    }
    kept.operation = operation;
    ++pending_;
    if (options_.retain) uncopied_.push_back({&to, serial});
  }
  ++next_order_;
  const std::uint64_t digest = digest_with(to, {}, bytes);
  kept.digest = digest;
  if (options_.retain) to.digest = digest;
  // A peer may ask twice for one message.
  while (!to.asked.empty() && to.asked.front().serial < serial) to.asked.pop_front();
  const bool was_asked = !to.asked.empty() && to.asked.front().serial == serial;
  kept.was_asked = was_asked;
  const bool is_answer = was_asked && !comes_by_itself(bytes);
  const RemoteRegion region = was_asked ? to.asked.front().region : RemoteRegion{};
  if (was_asked) to.asked.pop_front();
  to.kept.push_back(std::move(kept));
  last_ = {key, serial};
  const std::optional<ToldDigest> had = to.had_at(serial);
  if (had) compare(last_, digest, *had);
  if (is_answer) {
    answer(to, serial, region);
  } else if (had && !was_asked) {
    note_had(to, serial);
  } else {
    queue_push({&to, serial});
  }
  return operation;
}

/// Releases the copies of messages in flight over a lossless connection, which needs none. A copy
/// that is still needed keeps those behind it, too. The queue of the fabric is empty.
void PairOut::let_go(Flow& flow) {
  while (!flow.kept.empty()) {
    const Kept& front = flow.kept.front();
    const bool is_on_its_way = front.sent_in == connection_ && !is_large(front.bytes) &&
                               front.operation == Operation{} && front.writes_out == 0;
    if (!is_on_its_way) return;
    flow.archived_digest = front.digest;
    flow.kept.pop_front();
    ++flow.first;
    let_go_ = heard_ + frames_out_;
  }
}

void PairOut::keep_what_left(Flow& to, std::span<const std::byte> head,
                             std::span<const std::byte> bytes, std::uint64_t digest) {
  const std::size_t size = head.size() + bytes.size();
  expect_word({&to, to.next()}, true);
  Kept& kept = to.kept.emplace_back();
  kept.order = next_order_++;
  kept.sent_in = connection_;
  kept.digest = digest;
  if (digest != 0) to.digest = digest;
  const std::byte* const copy = bodies_.keep(head, bytes, kept.body);
  WEFT_CHECK(copy != nullptr, "no memory for a message of {} bytes", size);
  kept.bytes = {copy, size};
  // Every message could settle one; a few at a time are faster.
  if (heard_ - settled_ >= settled_at_once) settle(heard_ - settled_ - settled_at_once);
}

Serial PairOut::skip(const FlowKey& key) {
  Flow& to = flow(key);
  WEFT_CHECK(to.kept.empty());
  ++next_order_;
  return to.first++;
}

void PairOut::connected(const Connection& connection) {
  // A later connection may be asked for messages that were on an earlier one.
  is_lossless_ = connection.is_lossless;
  hears_had_ = connection.is_to_newest;
  keeps_ = options_.retain || !is_lossless_ || connection_ > 0 || !connection.is_to_newest;
  has_lost_ = has_lost_ || (has_unkept_ && !connection.pull);
  ++connection_;
  named_ = nullptr;
  up_ = !diverged_;
  granted_ = connection.granted;
  window_.begin(is_lossless_ ? std::numeric_limits<std::uint64_t>::max()
                             : options_.fabric.write_window);
  spent_ = heard_ = settled_ = let_go_ = 0;
  push_again(!connection.pull);
}

/// Queues messages not known to have arrived; `all`: not only those that no connection has seen
/// yet. The peer then asks for nothing behind the first of a flow that comes by itself: so behind
/// it there must be fresh ones only.
void PairOut::push_again(bool all) {
  pushes_.clear();
  pushes_cost_ = 0;
  std::vector<std::tuple<std::uint64_t, Place>> places;
  flows_.for_each_active([&](Flow& flow) {
    bool is_pushed = true;
    for (std::size_t i = flow.kept.size(); i-- > 0;) {
      Kept& kept = flow.kept[i];
      leave_queue(kept);
      // One that was asked for is asked for again.
      const bool is_fresh =
          !kept.arrived && kept.sent_in == 0 && kept.answered_in == 0 && !kept.was_asked;
      is_pushed = all || (is_pushed && is_fresh);
      if (is_pushed && !kept.arrived) places.emplace_back(kept.order, Place{&flow, flow.first + i});
    }
  });
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  for (const auto& [order, place] : places) queue_push(place);
}

void PairOut::disconnected() {
  settle(0);
  up_ = false;
  answers_.clear();
  writing_.clear();
  has_unkept_ = has_unkept_ || heard_ < let_go_;
  for (std::size_t i = 0; i < unheard_.size(); ++i) {
    has_unkept_ = has_unkept_ || unheard_[i].unkept > 0;
  }
  unheard_.clear();
  frames_out_ = 0;
  flows_.for_each_active([](Flow& flow) { flow.asked.clear(); });
  forget_had();
}

bool PairOut::on_get(const Frame& get) {
  Flow& from = flow(get.flow);
  if (get.serial >= from.next()) {
    if (from.asked.size() >= most_asked) return false;
    // Behind those for earlier messages, which mostly are all that there are.
    from.asked.emplace_back(get.serial, get.region);
    for (std::size_t i = from.asked.size() - 1; i > 0; --i) {
      if (from.asked[i - 1].serial <= get.serial) break;
      std::swap(from.asked[i - 1], from.asked[i]);
    }
    return true;
  }
  const Kept* kept = from.find(get.serial);
  if (kept == nullptr && !keeps_) return true;  // it is on its way, or there
  const bool on_its_way = kept != nullptr && kept->sent_in == connection_ && !is_large(kept->bytes);
  const bool answered = kept != nullptr && kept->answered_in == connection_;
  if (!on_its_way && !answered) answer(from, get.serial, get.region);
  return true;
}

void PairOut::answer(Flow& from, Serial serial, const RemoteRegion& region) {
  if (Kept* const kept = from.find(serial)) {
    kept->answered_in = connection_;
    leave_queue(*kept);
  }
  answers_.push_back({.place = {&from, serial}, .region = region});
}

/// Answers the requests for messages that exist by now.
void PairOut::answer_what_was_asked(Flow& flow) {
  while (!flow.asked.empty() && flow.asked.front().serial < flow.next()) {
    const Asked asked = flow.asked.front();
    flow.asked.pop_front();
    answer(flow, asked.serial, asked.region);
  }
}

bool PairOut::on_credit(const Frame& credit) {
  if (credit.granted < granted_ || credit.received < heard_ ||
      credit.received - heard_ > frames_out_) {
    return false;
  }
  granted_ = credit.granted;
  frames_out_ -= credit.received - heard_;
  heard_ = credit.received;
  // Nobody waits for what was copied when it left: the next messages settle it, after they left.
  settle(keeps_ && pending_ == 0 ? most_unsettled : 0);
  return true;
}

void PairOut::settle(std::uint64_t left_over) {
  while (heard_ - settled_ > left_over) {
    Unheard& first = unheard_.front();
    if (first.unkept > 0) {
      const std::uint64_t n = std::min<std::uint64_t>(first.unkept, heard_ - settled_);
      first.unkept -= static_cast<std::uint32_t>(n);
      settled_ += n;
      if (first.unkept == 0) unheard_.pop_front();
      continue;
    }
    const Unheard heard = first;
    unheard_.pop_front();
    ++settled_;
    if (heard.delivers) arrived(heard.place);
  }
}

void PairOut::on_forget(const Frame& forget) {
  settle(0);
  Flow& of = flow(forget.flow);
  of.forgotten = std::max(of.forgotten, forget.serial);
  of.archive.forget(of.forgotten);
  for (std::size_t i = 0; i < of.kept.size() && of.first + i < of.forgotten; ++i) {
    Kept& kept = of.kept[i];
    const bool is_in_use = kept.sent_in == connection_ || kept.answered_in == connection_;
    const bool was_sent = kept.sent_in != 0 || kept.answered_in != 0;
    if (!was_sent || kept.arrived || (is_in_use && kept.operation != Operation{})) continue;
    // It was received, though its receiver has not said so yet.
    kept.arrived = true;
    leave_queue(kept);
    // It may have been sent once more, and not have left the queue.
    if (is_in_use && kept.writes_out == 0) dying_.push_back(std::move(kept.body));
    release(of, of.first + i, kept);
  }
  drop_front(of);
}

void PairOut::arrived(const Place& place) {
  Kept* kept = place.flow->find(place.serial);
  if (kept == nullptr || kept->arrived) return;
  kept->arrived = true;
  leave_queue(*kept);
  release(*place.flow, place.serial, *kept);
  drop_front(*place.flow);
}

void PairOut::finish(Kept& kept, Failure failure) {
  operations_.finish(std::exchange(kept.operation, {}),
                     failure == Failure::none ? kept.bytes.size() : 0, failure);
  --pending_;
}

/// The caller's bytes are its own again when neither the peer, nor a later life of it, nor the
/// fabric needs them.
bool PairOut::may_be_reused(const Flow& flow, Serial serial, const Kept& kept) const {
  if (kept.writes_out > 0) return false;
  if (kept.arrived) return kept.body.owns() || loses_uncopied_ || !is_needed(flow, serial);
  return kept.body.owns() && kept.sent_in != connection_ && kept.answered_in != connection_;
}

void PairOut::release(const Flow& flow, Serial serial, Kept& kept) {
  if (kept.operation != Operation{} && may_be_reused(flow, serial, kept)) {
    finish(kept, Failure::none);
    if (!kept.body.owns()) {
      kept.is_lost = true;
      kept.bytes = {};
    }
  }
  if (kept.arrived && kept.writes_out == 0 && kept.operation == Operation{} &&
      !is_needed(flow, serial)) {
    kept.body.reset();
    kept.bytes = {};
  }
}

void PairOut::drop_front(Flow& flow) {
  while (!flow.kept.empty()) {
    Kept& front = flow.kept.front();
    if (!front.arrived || front.writes_out > 0 || front.operation != Operation{}) return;
    if (is_needed(flow, flow.first)) {
      if (front.is_lost) {
        flow.archive.add_gone(flow.first);
      } else if (!flow.archive.add(bodies_, flow.first, front.bytes, front.body,
                                   flow.archived_digest, front.digest)) {
        return;
      }
    }
    flow.archived_digest = front.digest;
    leave_queue(front);
    flow.kept.pop_front();
    ++flow.first;
  }
}

bool PairOut::copy_waiting(bool ignores_limit) {
  for (; !uncopied_.empty(); uncopied_.pop_front()) {
    const auto [flow, serial] = uncopied_.front();
    Kept* const kept = flow->find(serial);
    if (kept == nullptr || kept->operation == Operation{} || kept->body.owns()) continue;
    if (is_needed(*flow, serial)) {
      const bool has_room = ignores_limit ? bodies_.keep_beyond_limit(kept->bytes, kept->body)
                                          : bodies_.keep(kept->bytes, kept->body) != nullptr;
      if (!has_room) return false;
      kept->bytes = kept->body.view();
    }
    release(*flow, serial, *kept);
    drop_front(*flow);
  }
  return true;
}

std::uint64_t PairOut::started() const {
  std::uint64_t sum = 0;
  flows_.for_each_active([&](const Flow& flow) { sum += flow.next(); });
  flows_.for_each_resting([&](const FlowKey&, const FlowPlace& place) { sum += place.next; });
  return sum;
}

ByteCount PairOut::kept() const {
  std::uint64_t sum = 0;
  flows_.for_each_active([&](const Flow& flow) {
    sum += flow.archive.bytes();
    for (std::size_t i = 0; i < flow.kept.size(); ++i) {
      if (flow.kept[i].body.owns()) sum += flow.kept[i].bytes.size();
    }
  });
  return ByteCount(sum);
}

void PairOut::fail_all(Failure failure) {
  flows_.for_each_active([&](Flow& flow) {
    for (std::size_t i = 0; i < flow.kept.size(); ++i) {
      Kept& kept = flow.kept[i];
      if (kept.operation == Operation{}) continue;
      finish(kept, failure);
      kept.bytes = {};
      kept.arrived = kept.is_lost = true;
      leave_queue(kept);
    }
    drop_front(flow);
  });
}

std::uint32_t PairOut::take_write(const Place& place, std::uint64_t bytes) {
  if (free_write_ == none) {
    writes_.push_back({.place = {}, .next_free = none});
    free_write_ = static_cast<std::uint32_t>(writes_.size() - 1);
  }
  const std::uint32_t slot = free_write_;
  free_write_ = writes_[slot].next_free;
  writes_[slot].place = place;
  writes_[slot].bytes = bytes;
  window_.posted(bytes);
  return slot;
}

void PairOut::on_write_over(Instant now, std::uint64_t slot) {
  WEFT_CHECK(slot < writes_.size());
  const Place place = std::exchange(writes_[slot].place, {});
  window_.over(now, writes_[slot].bytes);
  writes_[slot].next_free = free_write_;
  free_write_ = static_cast<std::uint32_t>(slot);
  Kept* const kept = place.flow->find(place.serial);
  if (kept == nullptr) {
    place.flow->archive.end_write(place.serial);
    return place.flow->archive.forget(place.flow->forgotten);
  }
  WEFT_CHECK(kept->writes_out > 0);
  --kept->writes_out;
  release(*place.flow, place.serial, *kept);
  drop_front(*place.flow);
}

bool PairOut::pump(TransmitQueue& out) {
  if (out.tx.empty()) dying_.clear();
  if (!up_) return true;
  while (!answers_.empty()) {
    if (!pump_answer(answers_.front(), out)) return false;
    answers_.pop_front();
  }
  if (pump_writing(out) == Pumped::no_room) return false;
  while (!pushes_.empty()) {
    const auto [place, cost] = pushes_.front();
    Kept* const kept = place.flow->find(place.serial);
    if (is_needed_push(kept)) {
      if (spent_ + cost > granted_) {  // until there is credit, or it is asked for
        if (pushes_.size() > 2 * queued_ + most_unneeded) drop_unneeded_pushes();
        return true;
      }
      if (!pump_push(place, out)) return false;
      spent_ += cost;
    }
    if (kept != nullptr) leave_queue(*kept);
    pushes_.pop_front();
    pushes_cost_ -= cost;
  }
  return true;
}

bool PairOut::pump_push(const Place& place, TransmitQueue& out) {
  if (!out.has_room(1, longest_control_frame)) return false;
  Kept& kept = *place.flow->find(place.serial);
  if (is_large(kept.bytes)) {
    send_about(FrameKind::announce, place, kept.bytes.size(), told(kept.digest), out);
    expect_word(place, false);
  } else {
    send_body(*place.flow, place.serial, kept, false, out);
  }
  kept.sent_in = connection_;
  return true;
}

/// None: the message is not kept any more, or not needed.
std::optional<std::span<const std::byte>> PairOut::bytes_of(const Place& place) {
  const auto [flow, serial] = place;
  if (const Kept* const kept = flow->find(serial)) {
    const bool is_there = !kept->is_lost && !(kept->arrived && !is_needed(*flow, serial));
    return is_there ? std::optional(kept->bytes) : std::nullopt;
  }
  const auto archived = flow->archive.find(serial);
  return archived && !archived->is_gone ? std::optional(archived->bytes) : std::nullopt;
}

/// Of the flow up to a message that is kept.
std::uint64_t PairOut::digest_of(const Place& place) {
  if (const Kept* const kept = place.flow->find(place.serial)) return kept->digest;
  return place.flow->archive.find(place.serial)->digest;
}

/// Small messages leave at once, before any that is pushed later: their receiver may rely on it.
bool PairOut::pump_answer(const Answer& answer, TransmitQueue& out) {
  if (!out.has_room(1, longest_control_frame)) return false;
  const auto bytes = bytes_of(answer.place);
  if (!bytes) {
    send_about(FrameKind::gone, answer.place, 0, 0, out);
    return true;
  }
  if (!is_large(*bytes)) return pump_small(answer.place, out);
  writing_.push_back(answer);
  return true;
}

/// Those that have arrived are copied into the queue: they go to the archive, which moves its
/// bytes.
bool PairOut::pump_small(const Place& place, TransmitQueue& out) {
  Kept* const kept = place.flow->find(place.serial);
  if (kept != nullptr && !kept->arrived) {
    send_body(*place.flow, place.serial, *kept, true, out);
    return true;
  }
  const std::span<const std::byte> bytes = *bytes_of(place);
  const std::size_t size = header_bytes + bytes.size();
  if (!out.has_room(1, size)) return false;
  const Frame frame{.kind = FrameKind::eager,
                    .asked = true,
                    .flow = place.flow->key,
                    .serial = place.serial,
                    .digest = told(digest_of(place))};
  out.send(peer_, options_.level_to(peer_), size, [&](wire::Writer& w) {
    encode(w, frame);
    w.put_bytes(bytes);
  });
  named(*place.flow, place.serial);
  expect_word(place, true);
  return true;
}

PairOut::Pumped PairOut::pump_writing(TransmitQueue& out) {
  while (!writing_.empty()) {
    if (!out.has_room(1, longest_control_frame)) return Pumped::no_room;
    Answer& first = writing_.front();
    if (const auto bytes = bytes_of(first.place)) {
      const Pumped pumped = pump_written(first, *bytes, out);
      if (pumped != Pumped::all) return pumped;
    } else {
      send_about(FrameKind::gone, first.place, 0, 0, out);
    }
    writing_.pop_front();
  }
  window_.rest();
  return Pumped::all;
}

/// Into the memory that the peer named.
PairOut::Pumped PairOut::pump_written(Answer& answer, std::span<const std::byte> bytes,
                                      TransmitQueue& out) {
  if (bytes.size() > answer.region.length) {
    send_about(FrameKind::too_long, answer.place, bytes.size(), 0, out);
    arrived(answer.place);
    return Pumped::all;
  }
  if (const Pumped pumped = pump_writes(answer, bytes, out); pumped != Pumped::all) return pumped;
  send_about(FrameKind::written, answer.place, bytes.size(), told(digest_of(answer.place)), out);
  expect_word(answer.place, true);
  return Pumped::all;
}

// Leaves room for the word that follows the last write. Requests, announcements and small messages
// to the same peer shall not wait for all of a large message: two that exchange such messages would
// do so one after the other.
PairOut::Pumped PairOut::pump_writes(Answer& answer, std::span<const std::byte> bytes,
                                     TransmitQueue& out) {
  const auto [flow, serial] = answer.place;
  const std::uint64_t most = std::min<std::uint64_t>(options_.fabric.max_write, window_.longest());
  while (answer.offset < bytes.size()) {
    if (!out.has_room(2, longest_control_frame)) return Pumped::no_room;
    if (!window_.has_room()) return Pumped::waits;
    const std::size_t n = std::min<std::uint64_t>(bytes.size() - answer.offset, most);
    TxOp op;
    op.kind = OpKind::write;
    op.service_level = options_.level_to(peer_);
    op.peer = peer_;
    op.context = write_context | take_write(answer.place, n);
    op.segments[0] = bytes.subspan(answer.offset, n);
    op.region = answer.region;
    op.region_offset = answer.offset;
    out.tx.push_back(op);
    if (Kept* const kept = flow->find(serial)) {
      ++kept->writes_out;
    } else {
      flow->archive.begin_write(serial);
    }
    answer.offset += n;
  }
  return Pumped::all;
}

void PairOut::send_body(Flow& flow, Serial serial, Kept& kept, bool asked, TransmitQueue& out) {
  const Frame frame{.kind = FrameKind::eager,
                    .urgent = kept.operation != Operation{},
                    .asked = asked,
                    .flow = flow.key,
                    .serial = serial,
                    .digest = told(kept.digest)};
  out.send(
      peer_, options_.level_to(peer_), header_bytes, [&](wire::Writer& w) { encode(w, frame); },
      kept.bytes);
  named(flow, serial);
  expect_word({&flow, serial}, true);
}

void PairOut::send_about(FrameKind kind, const Place& place, std::uint64_t size, ToldDigest digest,
                         TransmitQueue& out) {
  const Frame frame{.kind = kind,
                    .urgent = kind == FrameKind::written,
                    .flow = place.flow->key,
                    .serial = place.serial,
                    .size = size,
                    .digest = digest};
  out.send(peer_, options_.level_to(peer_), longest_control_frame,
           [&](wire::Writer& w) { encode(w, frame); });
}

}  // namespace weft::message
