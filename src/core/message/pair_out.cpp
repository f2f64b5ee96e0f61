// SPDX-License-Identifier: Apache-2.0
#include "core/message/pair_out.hpp"

#include <algorithm>
#include <tuple>

#include "base/check.hpp"

namespace weft::message {
namespace {

constexpr std::uint32_t none = 0xffff'ffff;
/// A peer asks once for each receive that it has posted; beyond that it is not one of ours.
constexpr std::size_t most_asked = 1 << 20;

}  // namespace

PairOut::Flow& PairOut::look_up(const FlowKey& key) {
  Flow& found = flows_[key];
  found.key = key;
  latest_ = &found;
  return found;
}

Operation PairOut::send(const FlowKey& key, std::span<const std::byte> bytes) {
  Flow& to = flow(key);
  const Serial serial = to.next();
  const bool copies = bytes.size() <= options_.eager_limit || options_.retain;
  Kept kept = copies ? copy_of(bytes) : Kept{.bytes = bytes, .order = next_order_++};
  Operation operation = Operations::done(bytes.size());
  if (!kept.body.owns()) {
    operation = operations_.start(OperationState::Kind::send, peer_, key, serial);
    if (options_.retain) {
      operations_.finish(operation, 0, Failure::outbox_full);
      return operation;
    }
    kept.operation = operation;
    ++pending_;
  }
  to.kept.push_back(std::move(kept));
  const auto asked = std::find_if(to.asked.begin(), to.asked.end(),
                                  [&](const Asked& a) { return a.serial == serial; });
  if (asked != to.asked.end()) {
    const RemoteRegion region = asked->region;
    to.asked.erase(asked);
    answer(to, serial, region);
  } else {
    pushes_.push_back({&to, serial});
  }
  return operation;
}

PairOut::Kept PairOut::copy_of(std::span<const std::byte> bytes) {
  Kept kept{.bytes = bytes, .order = next_order_++};
  if (bodies_.keep(bytes, kept.body)) kept.bytes = kept.body.view();
  return kept;
}

void PairOut::left(Flow& to, std::span<const std::byte> bytes) {
  unheard_.emplace_back(Place{&to, to.next()}, true);
  Kept& kept = to.kept.emplace_back();
  kept.order = next_order_++;
  kept.sent_in = connection_;
  const std::byte* const copy = bodies_.keep(bytes, kept.body);
  WEFT_CHECK(copy != nullptr, "no memory for a message of {} bytes", bytes.size());
  kept.bytes = {copy, bytes.size()};
  spent_ += credit_cost(bytes.size());
}

Serial PairOut::skip(const FlowKey& key) {
  Flow& to = flow(key);
  WEFT_CHECK(to.kept.empty());
  return to.first++;
}

void PairOut::connected(std::uint64_t granted, bool new_life) {
  ++connection_;
  up_ = true;
  granted_ = granted;
  spent_ = heard_ = 0;
  if (new_life) {
    pushes_.clear();
    for (auto& [key, flow] : flows_) {
      for (std::size_t i = 0; i < flow.kept.size(); ++i) {
        Kept& kept = flow.kept[i];
        if (kept.arrived && !is_gone(kept)) kept.arrived = false;
      }
    }
    return;
  }
  push_unarrived_again();
}

void PairOut::push_unarrived_again() {
  pushes_.clear();
  std::vector<std::tuple<std::uint64_t, Place>> places;
  for (auto& [key, flow] : flows_) {
    for (std::size_t i = 0; i < flow.kept.size(); ++i) {
      if (flow.kept[i].arrived) continue;
      places.emplace_back(flow.kept[i].order, Place{&flow, flow.first + i});
    }
  }
  std::sort(places.begin(), places.end(),
            [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });
  for (const auto& [order, place] : places) pushes_.push_back(place);
}

void PairOut::disconnected() {
  up_ = false;
  answers_.clear();
  unheard_.clear();
  for (auto& [key, flow] : flows_) flow.asked.clear();
}

bool PairOut::on_get(const Frame& get) {
  Flow& from = flow(get.flow);
  if (get.serial >= from.next()) {
    if (from.asked.size() >= most_asked) return false;
    from.asked.push_back({get.serial, get.region});
    return true;
  }
  Kept* kept = from.find(get.serial);
  if (kept == nullptr || is_gone(*kept)) {
    answers_.push_back({.place = {&from, get.serial}, .region = {}, .gone = true});
    return true;
  }
  const bool on_its_way = kept->sent_in == connection_ && !is_large(*kept);
  if (!on_its_way && kept->answered_in != connection_) answer(from, get.serial, get.region);
  return true;
}

void PairOut::answer(Flow& from, Serial serial, const RemoteRegion& region) {
  from.find(serial)->answered_in = connection_;
  answers_.push_back({.place = {&from, serial}, .region = region});
}

bool PairOut::on_credit(const Frame& credit) {
  if (credit.granted < granted_ || credit.received < heard_ ||
      credit.received - heard_ > unheard_.size()) {
    return false;
  }
  granted_ = credit.granted;
  for (; heard_ < credit.received; ++heard_) {
    const Unheard heard = unheard_.front();
    unheard_.pop_front();
    if (heard.delivers) arrived(heard.place);
  }
  return true;
}

void PairOut::on_have(const Frame& have) {
  Flow& of = flow(have.flow);
  if (of.find(have.serial) != nullptr) arrived({&of, have.serial});
}

void PairOut::arrived(const Place& place) {
  Kept* kept = place.flow->find(place.serial);
  if (kept == nullptr || kept->arrived) return;
  kept->arrived = true;
  settle(*place.flow, *kept);
}

void PairOut::finish(Kept& kept, Failure failure) {
  operations_.finish(std::exchange(kept.operation, {}),
                     failure == Failure::none ? kept.bytes.size() : 0, failure);
  --pending_;
}

/// The caller's bytes are its own again when neither the peer nor the fabric needs them.
void PairOut::settle(Flow& flow, Kept& kept) {
  if (!kept.arrived || kept.writes_out > 0) return;
  if (kept.operation != Operation{}) finish(kept, Failure::none);
  if (is_gone(kept)) {
    kept.body.reset();
    kept.bytes = {};
    drop_front(flow);
  }
}

void PairOut::drop_front(Flow& flow) {
  while (!flow.kept.empty() && is_gone(flow.kept.front()) && flow.kept.front().writes_out == 0) {
    flow.kept.pop_front();
    ++flow.first;
  }
}

void PairOut::trim(std::uint64_t order) {
  for (auto& [key, flow] : flows_) {
    for (std::size_t i = 0; i < flow.kept.size(); ++i) {
      Kept& kept = flow.kept[i];
      if (kept.order >= order) break;
      // It was received, though its receiver has not said so yet.
      kept.arrived = kept.trimmed = true;
      if (kept.writes_out > 0) continue;
      kept.body.reset();
      kept.bytes = {};
    }
    drop_front(flow);
  }
}

void PairOut::store(StoredPair& into) const {
  into.next_order = next_order_;
  for (const auto& [key, flow] : flows_) {
    StoredSends& sends = into.sends.emplace_back();
    sends.flow = key;
    sends.first = flow.first;
    for (std::size_t i = 0; i < flow.kept.size(); ++i) {
      const Kept& kept = flow.kept[i];
      sends.kept.push_back({.order = kept.order, .is_gone = is_gone(kept), .bytes = kept.bytes});
    }
  }
}

Result<void> PairOut::go_on(const StoredPair& from) {
  for (const StoredSends& sends : from.sends) {
    if (auto good = go_on(sends); !good) return good;
  }
  next_order_ = from.next_order;
  if (up_) push_unarrived_again();
  return {};
}

Result<void> PairOut::go_on(const StoredSends& from) {
  Flow& to = flow(from.flow);
  if (to.next() != 0) {
    return Error{ErrorCode::invalid_argument,
                 "messages were sent before the process went on from where it was stored"};
  }
  to.first = from.first;
  for (const StoredMessage& message : from.kept) {
    Kept kept{.order = message.order, .arrived = message.is_gone, .trimmed = message.is_gone};
    if (!message.is_gone) {
      if (!bodies_.keep(message.bytes, kept.body)) {
        return Error{ErrorCode::exhausted, "the outbox is full; use a larger --outbox or --spill"};
      }
      kept.bytes = kept.body.view();
    }
    to.kept.push_back(std::move(kept));
  }
  // What the peer has asked for meanwhile.
  for (const Asked& asked : std::exchange(to.asked, {})) {
    (void)on_get(
        {.kind = FrameKind::get, .flow = to.key, .serial = asked.serial, .region = asked.region});
  }
  return {};
}

void PairOut::fail_all(Failure failure) {
  for (auto& [key, flow] : flows_) {
    for (std::size_t i = 0; i < flow.kept.size(); ++i) {
      Kept& kept = flow.kept[i];
      if (kept.operation == Operation{}) continue;
      finish(kept, failure);
      kept.bytes = {};
      kept.arrived = kept.trimmed = true;
    }
    drop_front(flow);
  }
}

std::uint32_t PairOut::take_write(const Place& place) {
  if (free_write_ == none) {
    writes_.push_back({.place = {}, .next_free = none});
    free_write_ = static_cast<std::uint32_t>(writes_.size() - 1);
  }
  const std::uint32_t slot = free_write_;
  free_write_ = writes_[slot].next_free;
  writes_[slot].place = place;
  ++writes_out_;
  return slot;
}

void PairOut::on_write_over(std::uint64_t slot) {
  WEFT_CHECK(slot < writes_.size());
  const Place place = writes_[slot].place;
  writes_[slot].next_free = free_write_;
  free_write_ = static_cast<std::uint32_t>(slot);
  --writes_out_;
  Kept* kept = place.flow->find(place.serial);
  WEFT_CHECK(kept != nullptr && kept->writes_out > 0);
  --kept->writes_out;
  settle(*place.flow, *kept);
}

bool PairOut::pump(TransmitQueue& out) {
  if (!up_) return true;
  while (!answers_.empty()) {
    if (!pump_answer(answers_.front(), out)) return false;
    answers_.pop_front();
  }
  while (!pushes_.empty()) {
    const Place place = pushes_.front();
    const Kept* kept = place.flow->find(place.serial);
    const bool needed = kept != nullptr && !kept->arrived && kept->sent_in != connection_ &&
                        kept->answered_in != connection_;
    if (needed) {
      const std::uint64_t cost = credit_cost(is_large(*kept) ? 0 : kept->bytes.size());
      if (spent_ + cost > granted_) return true;  // until there is credit, or it is asked for
      if (!pump_push(place, out)) return false;
      spent_ += cost;
    }
    pushes_.pop_front();
  }
  return true;
}

bool PairOut::pump_push(const Place& place, TransmitQueue& out) {
  if (!out.has_room(1, header_bytes)) return false;
  Kept& kept = *place.flow->find(place.serial);
  if (is_large(kept)) {
    send_about(FrameKind::announce, *place.flow, place.serial, kept.bytes.size(), false, out);
    unheard_.push_back({.place = place, .delivers = false});
  } else {
    send_body(*place.flow, place.serial, kept, false, out);
  }
  kept.sent_in = connection_;
  return true;
}

bool PairOut::pump_answer(Answer& answer, TransmitQueue& out) {
  if (!out.has_room(1, header_bytes)) return false;
  const auto [flow, serial] = answer.place;
  Kept* kept = flow->find(serial);
  if (answer.gone || kept == nullptr) {
    send_about(FrameKind::gone, *flow, serial, 0, false, out);
    return true;
  }
  if (!is_large(*kept)) {
    send_body(*flow, serial, *kept, true, out);
    return true;
  }
  if (kept->bytes.size() > answer.region.length) {
    send_about(FrameKind::too_long, *flow, serial, kept->bytes.size(), false, out);
    arrived(answer.place);
    return true;
  }
  if (!pump_writes(answer, *kept, out)) return false;
  send_about(FrameKind::written, *flow, serial, kept->bytes.size(), true, out);
  unheard_.push_back({.place = answer.place, .delivers = true});
  return true;
}

// Leaves room for the word that follows the last write.
bool PairOut::pump_writes(Answer& answer, const Kept& kept, TransmitQueue& out) {
  while (answer.offset < kept.bytes.size()) {
    if (!out.has_room(2, header_bytes)) return false;
    const std::size_t n =
        std::min<std::uint64_t>(kept.bytes.size() - answer.offset, options_.fabric.max_write);
    TxOp op;
    op.kind = OpKind::write;
    op.service_level = options_.level;
    op.peer = peer_;
    op.context = write_context | take_write(answer.place);
    op.segments[0] = kept.bytes.subspan(answer.offset, n);
    op.region = answer.region;
    op.region_offset = answer.offset;
    out.tx.push_back(op);
    ++answer.place.flow->find(answer.place.serial)->writes_out;
    answer.offset += n;
  }
  return true;
}

void PairOut::send_body(Flow& flow, Serial serial, Kept& kept, bool asked, TransmitQueue& out) {
  const Frame frame{.kind = FrameKind::eager,
                    .urgent = kept.operation != Operation{},
                    .asked = asked,
                    .flow = flow.key,
                    .serial = serial,
                    .size = kept.bytes.size()};
  out.send(
      peer_, options_.level, header_bytes, [&](wire::Writer& w) { encode(w, frame); }, kept.bytes);
  unheard_.push_back({.place = {&flow, serial}, .delivers = true});
}

void PairOut::send_about(FrameKind kind, const Flow& flow, Serial serial, std::uint64_t size,
                         bool urgent, TransmitQueue& out) {
  const Frame frame{
      .kind = kind, .urgent = urgent, .flow = flow.key, .serial = serial, .size = size};
  out.send(peer_, options_.level, header_bytes, [&](wire::Writer& w) { encode(w, frame); });
}

}  // namespace weft::message
