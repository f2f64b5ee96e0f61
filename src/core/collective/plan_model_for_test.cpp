// SPDX-License-Identifier: Apache-2.0
#include "core/collective/plan_model_for_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace weft::collective {

void PlanModel::add(Plan plan, std::vector<std::byte> input, std::vector<std::byte> output) {
  Member member;
  const std::vector<std::byte> scratch(plan.scratch_bytes, std::byte{0xEE});
  member.completed.resize(plan.steps.size());
  member.plan = std::move(plan);
  member.memory[0] = std::move(input);
  member.memory[1] = std::move(output);
  member.memory[2] = scratch;
  members_.push_back(std::move(member));
}

std::byte* PlanModel::at(Member& member, const Piece& piece) {
  auto& memory = member.memory[static_cast<std::size_t>(piece.buffer)];
  if (piece.offset > memory.size() || piece.bytes > memory.size() - piece.offset) {
    error_ = fmt::format("bytes {} to {} of a buffer of {}", piece.offset,
                         piece.offset + piece.bytes, memory.size());
    return nullptr;
  }
  static std::byte nothing{};
  return memory.empty() ? &nothing : memory.data() + piece.offset;
}

bool PlanModel::can_start(const Member& member) const {
  if (member.next == member.plan.steps.size()) return false;
  const auto& after = member.plan.steps[member.next].after;
  return std::all_of(after.begin(), after.end(),
                     [&](StepIndex i) { return i == no_step || member.completed[i]; });
}

void PlanModel::start(std::size_t who) {
  Member& member = members_[who];
  const auto index = static_cast<StepIndex>(member.next++);
  const Step& step = member.plan.steps[index];
  if (step.kind == Step::Kind::send || step.kind == Step::Kind::receive) {
    start_communication(who, index);
    return;
  }
  const std::byte* const from = at(member, step.from);
  std::byte* const to = at(member, step.to);
  if (from == nullptr || to == nullptr) return;
  if (step.from.bytes != step.to.bytes) error_ = "a local step between pieces of two sizes";
  if (step.to.buffer == Buffer::input) error_ = "the input is written";
  if (step.kind == Step::Kind::copy) {
    std::memcpy(to, from, step.to.bytes);
  } else if (step.from_is_left) {
    fold_(from, to, to, step.to.bytes);
  } else {
    fold_(to, from, to, step.to.bytes);
  }
  member.completed[index] = true;
}

void PlanModel::start_communication(std::size_t who, StepIndex index) {
  Member& member = members_[who];
  const Step& step = member.plan.steps[index];
  const bool is_send = step.kind == Step::Kind::send;
  if (step.peer >= members_.size() || step.peer == who) error_ = "no such peer";
  if (!is_send && step.to.buffer == Buffer::input) error_ = "the input is received into";
  if (!error_.empty()) return;
  ++member.open;
  const auto key =
      is_send ? std::pair{who, std::size_t{step.peer}} : std::pair{std::size_t{step.peer}, who};
  Pair& pair = pairs_[key];
  if (!is_send) {
    pair.receives.push_back({who, index});
  } else {
    pair.sends.push_back({who, index});
    // Some sends take their bytes at once, the others as late as they may.
    if (pair.early.size() + 1 == pair.sends.size() && rng_.below(2) == 0) {
      const std::byte* const from = at(member, step.from);
      if (from == nullptr) return;
      pair.early.emplace_back(from, from + step.from.bytes);
      member.completed[index] = true;
    }
  }
  const std::size_t waiting = is_send ? pair.receives.size() : pair.sends.size();
  const std::size_t mine = is_send ? pair.sends.size() : pair.receives.size();
  if (mine <= waiting) ready_.push_back(key);
}

void PlanModel::transfer(const std::pair<std::size_t, std::size_t>& key) {
  Pair& pair = pairs_[key];
  const Address send = pair.sends.front();
  const Address receive = pair.receives.front();
  pair.sends.pop_front();
  pair.receives.pop_front();
  Member& from = members_[send.first];
  Member& to = members_[receive.first];
  const Piece& sent = from.plan.steps[send.second].from;
  const Piece& room = to.plan.steps[receive.second].to;
  if (sent.bytes != room.bytes) {
    error_ = fmt::format("{} bytes from {} to {}, who expects {}", sent.bytes, send.first,
                         receive.first, room.bytes);
    return;
  }
  std::byte* const into = at(to, room);
  if (into == nullptr) return;
  if (pair.early.empty()) {
    const std::byte* const source = at(from, sent);
    if (source == nullptr) return;
    std::memcpy(into, source, sent.bytes);
    from.completed[send.second] = true;
  } else {
    std::copy(pair.early.front().begin(), pair.early.front().end(), into);
    pair.early.pop_front();
  }
  to.completed[receive.second] = true;
  --from.open;
  --to.open;
  ++messages_;
}

std::string PlanModel::run() {
  std::vector<std::size_t> able;
  std::vector<bool> is_able(members_.size());
  const auto look_at = [&](std::size_t i) {
    if (is_able[i] || !can_start(members_[i])) return;
    is_able[i] = true;
    able.push_back(i);
  };
  for (std::size_t i = 0; i < members_.size(); ++i) look_at(i);
  while (error_.empty() && !(able.empty() && ready_.empty())) {
    const std::size_t pick = rng_.below(able.size() + ready_.size());
    if (pick < able.size()) {
      const std::size_t who = able[pick];
      start(who);
      able[pick] = able.back();
      able.pop_back();
      is_able[who] = false;
      look_at(who);
    } else {
      std::swap(ready_[pick - able.size()], ready_.back());
      const auto key = ready_.back();
      ready_.pop_back();
      transfer(key);
      look_at(key.first);
      look_at(key.second);
    }
  }
  return error_.empty() ? what_is_left() : error_;
}

std::string PlanModel::what_is_left() const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_[i];
    if (member.next == member.plan.steps.size() && member.open == 0) continue;
    return fmt::format("member {} waits in step {} of {}, {} under way", i, member.next,
                       member.plan.steps.size(), member.open);
  }
  return {};
}

}  // namespace weft::collective
