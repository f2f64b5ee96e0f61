// SPDX-License-Identifier: Apache-2.0
// How a transfer notices that members of a group call collective operations that do not fit
// together. Short messages name their calls. The others carry no name: a process that waits for
// long tells the processes that it waits for in which call it is.
#include <fmt/format.h>

#include <algorithm>

#include "mpi/object/transfer_lane.hpp"

namespace weft::mpi {

void Transfer::disagree(std::string why) {
  if (failure_) return;
  has_arrived_ = true;  // nothing else may end a wait
  has_disagreement_ = true;
  failure_ = Error{ErrorCode::invalid_argument, std::move(why)};
  messenger_.fail(*failure_);  // this process may be on its way out
}

void Transfer::refuse_count(NodeId sender, std::uint64_t came, std::uint64_t expected) {
  disagree(
      fmt::format("rank {} sent {} bytes in a collective operation in which this rank expects "
                  "{}; use the same counts and operations everywhere",
                  sender.value(), came, expected));
}

void Transfer::refuse_call(const Lane& lane, CallName theirs, CallName own) {
  const std::uint32_t calls = lanes_of(lane.group())->calls.count();
  disagree(
      fmt::format("rank {} of the job is in {}; this rank is in {}: call the same operations with "
                  "the same root and counts everywhere, in the same order",
                  lane.sender().value(), theirs.text(calls), own.text(calls)));
}

/// Null: the process is none of the group.
Transfer::Lane* Transfer::lane_from(const Lanes& lanes, NodeId sender) {
  const auto& all = lanes.by_source;
  // In the world and its duplicates each process has its number.
  auto lane = all.begin() + std::min<std::ptrdiff_t>(sender.value(), std::ssize(all) - 1);
  if ((*lane)->sender() != sender) {
    lane = std::ranges::find_if(all, [&](const auto& l) { return l->sender() == sender; });
  }
  return lane != all.end() ? lane->get() : nullptr;
}

// Both ends take the messages of a pair in one order: one that arrives before the short message
// that this process waits for is there instead of it.
void Transfer::on_early(NodeId from, const message::FlowKey& flow, std::uint64_t bytes) {
  if (flow.type != message::MessageType::collective || flow.tag != Tag(0)) return;
  const auto found = collective_lanes_.find(flow.generation);
  if (found == collective_lanes_.end()) return;
  Lane* const lane = lane_from(*found->second, from);
  if (lane == nullptr) return;
  lane->early_plain.push_back(bytes);
  if (!lane->wanted.empty()) refuse_count(from, bytes, lane->wanted.front().into.size());
}

void Transfer::begin_collective_on(const Group& group, std::int32_t tag, CallKind kind,
                                   const collective::Request& what, bool is_among_neighbors) {
  Lanes* const lanes = lanes_of(group);
  if (lanes == nullptr) return;
  const auto i = static_cast<std::size_t>(tag);
  if (i >= lanes->on_tag.size()) lanes->on_tag.resize(i + 1);
  lanes->on_tag[i] = kind == CallKind::persistent
                         ? CallName(what.operation, what.root, static_cast<std::uint32_t>(tag),
                                    kind, is_among_neighbors)
                         : lanes->calls.add(what.operation, what.root, kind, is_among_neighbors);
}

// A member that waits in the next call of that tag tells its name to one that has not begun it.
void Transfer::forget_collective_on(const Group& group, std::int32_t tag) {
  Lanes* const lanes = lanes_of(group);
  const auto i = static_cast<std::size_t>(tag);
  if (lanes != nullptr && i < lanes->on_tag.size()) lanes->on_tag[i] = {};
}

// Lives of a process wait at different times, and have to send the same: they tell nothing.
void Transfer::tell_calls() {
  if (has_had_log_ || messenger_.keeps()) return;
  messenger_.told_of_wait();
  for (const Operation operation : operations_) {
    const auto* const state = messenger_.machine().find(operation);
    if (state == nullptr || state->flow.type != message::MessageType::collective) continue;
    const auto found = collective_lanes_.find(state->flow.generation);
    const Lane* const lane =
        found != collective_lanes_.end() ? lane_from(*found->second, state->peer) : nullptr;
    if (lane == nullptr) continue;
    const Lanes& lanes = *found->second;
    const std::size_t tag = state->flow.tag.value();
    if (tag == 0) tell_call(*lane, lanes.call);
    if (tag > 0 && tag < lanes.on_tag.size()) tell_call(*lane, lanes.on_tag[tag]);
  }
  for (const auto& [group, lanes] : lanes_) {
    for (const auto& lane : lanes.by_source) {
      if (!lane->wanted.empty()) tell_call(*lane, lane->wanted.front().call);
    }
    if (lanes.waits_on_board) tell_meeting(*group, lanes);
  }
}

void Transfer::compare_calls(const Lane& lane, CallName theirs) {
  messenger_.told_of_wait();
  const Lanes* const lanes = lanes_of(lane.group());
  if (lanes == nullptr) return;
  const std::uint32_t number = theirs.number();
  CallName own;
  if (theirs.kind() != CallKind::persistent) {
    own = lanes->calls.of_number(number);
  } else if (number < lanes->on_tag.size()) {
    own = lanes->on_tag[number];
  }
  if (!own.fits(theirs)) refuse_call(lane, theirs, own);
}

}  // namespace weft::mpi
