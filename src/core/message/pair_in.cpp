// SPDX-License-Identifier: Apache-2.0
#include "core/message/pair_in.hpp"

#include <algorithm>
#include <limits>

#include "base/check.hpp"
#include "base/copy.hpp"

namespace weft::message {
namespace {

constexpr Serial never = std::numeric_limits<Serial>::max();
/// The sender keeps track of so many frames before it must be told that they came.
constexpr std::uint64_t most_untold = 256;

}  // namespace

PairIn::Flow& PairIn::look_up(const FlowKey& key) {
  Flow& found = flows_[key];
  found.key = key;
  latest_ = &found;
  return found;
}

PairIn::Slot* PairIn::find(Flow& flow, Serial serial) {
  for (std::size_t i = 0; i < flow.slots.size(); ++i) {
    if (flow.slots[i].serial == serial) return &flow.slots[i];
  }
  return nullptr;
}

// Behind those with lower serials, which mostly are all that there are.
PairIn::Slot& PairIn::insert(Flow& flow, Serial serial) {
  flow.slots.emplace_back(serial);
  std::size_t i = flow.slots.size() - 1;
  for (; i > 0 && flow.slots[i - 1].serial > serial; --i) {
    std::swap(flow.slots[i - 1], flow.slots[i]);
  }
  return flow.slots[i];
}

void PairIn::erase(Flow& flow, const Slot& slot) {
  std::size_t i = 0;
  while (&flow.slots[i] != &slot) ++i;
  flow.slots.erase(i);
}

Operation PairIn::receive(const FlowKey& key, std::span<std::byte> into,
                          const RemoteRegion& region) {
  Flow& from = flow(key);
  const Serial serial = from.next++;
  const Operation operation = operations_.start(OperationState::Kind::receive, peer_, key, serial);
  Slot* slot = find(from, serial);
  if (slot == nullptr) slot = &insert(from, serial);
  slot->operation = operation;
  slot->into = into;
  slot->region = region;
  if (slot->state == State::arrived) {
    const Body body = std::move(slot->body);
    give_back(slot->credit);
    fill(from, *slot, body.view());
    check_credit();
    return operation;
  }
  const bool announced = slot->state == State::announced;
  slot->state = State::posted;
  ++posted_;
  ++unasked_;
  if (announced) {
    give_back(slot->credit);
    ask(from, *slot);
  } else {
    ask_if_needed(from, *slot);
  }
  return operation;
}

std::uint64_t PairIn::begin() {
  ++connection_;
  up_ = false;
  asks_.clear();
  haves_.clear();
  owes_credit_ = false;
  spent_ = freed_ = received_ = received_told_ = 0;
  base_ = granted_ = window_ > held_ ? window_ - held_ : 0;
  return base_;
}

void PairIn::connected(bool pull) {
  up_ = true;
  pull_ = pull;
  for (auto& [key, flow] : flows_) {
    for (std::size_t i = 0; i < flow.slots.size(); ++i) {
      Slot& slot = flow.slots[i];
      if (slot.state != State::posted) continue;
      if (std::exchange(slot.asked, false)) ++unasked_;
      ask_if_needed(flow, slot);
    }
  }
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

void PairIn::ask_if_needed(Flow& flow, Slot& slot) {
  if (!up_) return;
  const bool large = slot.into.size() > options_.eager_limit;
  if (large || slot.serial < pushed_from(flow)) {
    ask(flow, slot);
  } else {
    check_credit();
  }
}

void PairIn::ask(Flow& flow, Slot& slot) {
  if (slot.asked || !up_) return;
  slot.asked = true;
  --unasked_;
  asks_.push_back({&flow, slot.serial});
}

/// The peer may be out of credit: what it holds back comes when it is asked for.
void PairIn::ask_for_all() {
  for (auto& [key, flow] : flows_) {
    for (std::size_t i = 0; i < flow.slots.size(); ++i) {
      Slot& slot = flow.slots[i];
      if (slot.state == State::posted) ask(flow, slot);
    }
  }
}

bool PairIn::spend(std::uint64_t cost) {
  spent_ += cost;
  return spent_ <= granted_;
}

void PairIn::give_back(std::uint64_t cost) {
  held_ -= cost;
  freed_ += cost;
}

void PairIn::check_credit() {
  if (!up_) return;
  const std::uint64_t most = credit_cost(options_.eager_limit);
  const std::uint64_t granted_now = base_ + freed_;
  if (granted_now - granted_ >= window_ / 4 || received_ - received_told_ >= most_untold) {
    owes_credit_ = true;
  }
  if (granted_ - spent_ >= most) return;
  if (granted_now - spent_ >= most) {
    owes_credit_ = true;
  } else if (unasked_ > 0) {
    ask_for_all();
  }
}

bool PairIn::on_eager(const EagerFrame& frame) {
  Flow& from = flow(frame.flow);
  ++received_;
  if (frame.urgent) owes_credit_ = true;
  const std::uint64_t cost = frame.asked ? 0 : credit_cost(frame.body.size());
  if (!spend(cost)) return false;
  if (!frame.asked) note_pushed(from, frame.serial);
  Slot* slot = find(from, frame.serial);
  if (slot != nullptr && slot->state == State::posted) {
    freed_ += cost;
    --posted_;
    if (!slot->asked) --unasked_;
    fill(from, *slot, frame.body);
  } else if (slot != nullptr || frame.serial < from.next) {
    freed_ += cost;  // it came before
  } else {
    Slot& kept = insert(from, frame.serial);
    kept.state = State::arrived;
    kept.credit = cost;
    if (!bodies_.keep(frame.body, kept.body)) return false;
    held_ += cost;
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
  Slot* slot = find(from, frame.serial);
  if (slot != nullptr && slot->state == State::posted) {
    freed_ += cost;
    ask(from, *slot);
  } else if (slot != nullptr) {
    freed_ += cost;
  } else if (frame.serial < from.next) {
    freed_ += cost;
    haves_.push_back({&from, frame.serial});
  } else {
    Slot& announced = insert(from, frame.serial);
    announced.state = State::announced;
    announced.credit = cost;
    held_ += cost;
  }
  check_credit();
  return true;
}

bool PairIn::on_written(const Frame& frame) {
  Flow& from = flow(frame.flow);
  ++received_;
  owes_credit_ = true;
  Slot* slot = find(from, frame.serial);
  if (slot == nullptr || slot->state != State::posted || !slot->asked ||
      frame.size > slot->into.size()) {
    return false;
  }
  --posted_;
  finish(from, *slot, frame.size, Failure::none);
  return true;
}

void PairIn::on_gone(const Frame& frame) {
  Flow& from = flow(frame.flow);
  Slot* slot = find(from, frame.serial);
  if (slot == nullptr || slot->state != State::posted || !slot->asked) return;
  --posted_;
  finish(from, *slot, 0, Failure::not_kept);
}

void PairIn::on_too_long(const Frame& frame) {
  Flow& from = flow(frame.flow);
  Slot* slot = find(from, frame.serial);
  if (slot == nullptr || slot->state != State::posted || !slot->asked) return;
  --posted_;
  finish(from, *slot, frame.size, Failure::too_long);
}

void PairIn::deliver(const FlowKey& key, Serial serial, std::span<const std::byte> body) {
  Flow& from = flow(key);
  Slot* slot = find(from, serial);
  if (slot != nullptr) {
    --posted_;
    if (!slot->asked) --unasked_;
    fill(from, *slot, body);
    return;
  }
  Slot& kept = insert(from, serial);
  kept.state = State::arrived;
  WEFT_CHECK(bodies_.keep(body, kept.body), "no memory for a message of {} bytes", body.size());
}

void PairIn::fill(Flow& flow, Slot& slot, std::span<const std::byte> body) {
  if (body.size() > slot.into.size()) return finish(flow, slot, body.size(), Failure::too_long);
  copy_bytes(slot.into.data(), body.data(), body.size());
  finish(flow, slot, body.size(), Failure::none);
}

void PairIn::finish(Flow& flow, Slot& slot, std::uint64_t size, Failure failure) {
  operations_.finish(slot.operation, size, failure);
  erase(flow, slot);
}

void PairIn::fail_all(Failure failure) {
  for (auto& [key, flow] : flows_) {
    for (std::size_t i = flow.slots.size(); i-- > 0;) {
      Slot& slot = flow.slots[i];
      if (slot.state != State::posted) continue;
      --posted_;
      if (!slot.asked) --unasked_;
      finish(flow, slot, 0, failure);
    }
  }
}

void PairIn::store(StoredPair& into) const {
  for (const auto& [key, flow] : flows_) into.receives.push_back({key, flow.next});
}

void PairIn::go_on(const StoredPair& from) {
  for (const StoredReceives& stored : from.receives) {
    Flow& to = flow(stored.flow);
    to.next = stored.next;
    for (std::size_t i = to.slots.size(); i-- > 0;) {
      if (to.slots[i].serial >= stored.next) continue;
      give_back(to.slots[i].credit);
      erase(to, to.slots[i]);
    }
  }
  check_credit();
}

bool PairIn::holds_any() const {
  return std::any_of(flows_.begin(), flows_.end(),
                     [](const auto& entry) { return !entry.second.slots.empty(); });
}

bool PairIn::pump(TransmitQueue& out) {
  if (!up_) return true;
  const auto say = [&](const Frame& frame) {
    out.send(peer_, options_.level, longest_control_frame,
             [&](wire::Writer& w) { encode(w, frame); });
  };
  for (; !asks_.empty(); asks_.pop_front()) {
    const auto [flow, serial] = asks_.front();
    const Slot* slot = find(*flow, serial);
    if (slot == nullptr || slot->state != State::posted) continue;  // it came by itself
    if (!out.has_room(1, longest_control_frame)) return false;
    say({.kind = FrameKind::get,
         .flow = flow->key,
         .serial = serial,
         .size = slot->into.size(),
         .region = slot->region});
  }
  for (; !haves_.empty(); haves_.pop_front()) {
    if (!out.has_room(1, longest_control_frame)) return false;
    say({.kind = FrameKind::have,
         .flow = haves_.front().flow->key,
         .serial = haves_.front().serial});
  }
  if (owes_credit_) {
    if (!out.has_room(1, longest_control_frame)) return false;
    granted_ = base_ + freed_;
    received_told_ = received_;
    say({.kind = FrameKind::credit, .granted = granted_, .received = received_});
    owes_credit_ = false;
  }
  return true;
}

}  // namespace weft::message
