// SPDX-License-Identifier: Apache-2.0
#include "trace/replay/graph_feed.hpp"

namespace weft::trace {

using Kind = GoalOperation::Kind;
using sim::Action;

GraphFeed::GraphFeed(const GoalTrace& trace, double compute_factor)
    : trace_(trace), factor_(compute_factor), ranks_(trace.ranks.size()) {
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const GoalRank& given = trace.ranks[r];
    Rank& rank = ranks_[r];
    rank.missing.resize(given.operations.size());
    rank.first.resize(given.operations.size() + 1);
    for (const GoalDependency& d : given.dependencies) {
      ++rank.missing[d.later];
      ++rank.first[d.earlier + 1];
    }
    for (std::size_t i = 0; i < given.operations.size(); ++i) rank.first[i + 1] += rank.first[i];
    for (std::uint32_t i = 0; i < given.operations.size(); ++i) {
      if (rank.missing[i] == 0) make_ready(r, i);
    }
  }
}

void GraphFeed::make_ready(std::uint32_t r, std::uint32_t operation) {
  Rank& rank = ranks_[r];
  const bool computes = trace_.ranks[r].operations[operation].kind == Kind::calc;
  (computes ? rank.calcs : rank.messages).push_back(operation);
}

/// The operation has begun, or is done: operations that waited for that may begin.
void GraphFeed::release(std::uint32_t r, std::uint32_t operation, bool at_start) {
  Rank& rank = ranks_[r];
  for (std::uint32_t i = rank.first[operation]; i < rank.first[operation + 1]; ++i) {
    const GoalDependency& d = trace_.ranks[r].dependencies[i];
    if (d.at_start == at_start && --rank.missing[d.later] == 0) make_ready(r, d.later);
  }
}

void GraphFeed::on_completed(std::uint32_t r, std::uint32_t request) {
  --ranks_[r].open;
  release(r, request, false);
}

Action GraphFeed::next(std::uint32_t r) {
  Rank& rank = ranks_[r];
  if (rank.computes != none) {
    const std::uint32_t done = rank.computes;
    rank.computes = none;
    release(r, done, false);
  }
  while (!rank.messages.empty()) {
    const std::uint32_t operation = rank.messages.front();
    rank.messages.pop_front();
    bool within_rank = false;
    const Action action = begin_message(r, operation, within_rank);
    if (!within_rank) return action;
  }
  if (!rank.calcs.empty()) {
    const std::uint32_t operation = rank.calcs.front();
    rank.calcs.pop_front();
    rank.computes = operation;
    release(r, operation, true);
    const auto ns = static_cast<double>(trace_.ranks[r].operations[operation].amount);
    return {.kind = Action::Kind::compute,
            .time = PicoDuration(static_cast<std::int64_t>(ns * factor_ * 1000))};
  }
  return {.kind = rank.open > 0 ? Action::Kind::wait_any : Action::Kind::end};
}

/// `within_rank`: the message never leaves the rank, and there is nothing to act on.
Action GraphFeed::begin_message(std::uint32_t r, std::uint32_t operation, bool& within_rank) {
  const GoalOperation& op = trace_.ranks[r].operations[operation];
  const bool sends = op.kind == Kind::send;
  const MessageKey key{
      .from = sends ? r : op.peer, .to = sends ? op.peer : r, .tag = op.tag, .bytes = op.amount};
  const Side mine{names_++, operation};
  const auto other = pairing_.meet(key, sends, mine);
  ++ranks_[r].open;
  release(r, operation, true);
  within_rank = op.peer == r;
  if (within_rank && other) {
    on_completed(r, operation);
    on_completed(r, other->operation);
  }
  return {.kind = sends ? Action::Kind::send : Action::Kind::receive,
          .peer = op.peer,
          .match = other ? other->name : mine.name,
          .bytes = op.amount,
          .request = operation};
}

}  // namespace weft::trace
