// SPDX-License-Identifier: Apache-2.0
#include "trace/replay/stream_feed.hpp"

#include <algorithm>
#include <utility>

namespace weft::trace {

using sim::Action;

namespace {

/// The plan of a member when blocks differ and only totals were recorded: every message straight to
/// where it is wanted, a member's bytes in equal parts to all that get some of them.
collective::Plan plan_of_varying(const Event& e, std::uint32_t member, std::uint32_t members) {
  using collective::Operation;
  const bool is_root = member == e.root;
  const bool to_root = e.operation == Operation::gather;
  const bool from_root = e.operation == Operation::scatter;
  collective::PlanBuilder plan;
  const std::uint64_t part =
      to_root || e.operation == Operation::allgather ? e.bytes : e.bytes / members;
  for (std::uint32_t distance = 1; distance < members; ++distance) {
    const std::uint32_t source = (member + members - distance) % members;
    const bool receives = to_root ? is_root : !from_root || source == e.root;
    if (receives) plan.receive(source, {.bytes = 0});
  }
  for (std::uint32_t distance = 1; distance < members; ++distance) {
    const std::uint32_t target = (member + distance) % members;
    const bool sends = from_root ? is_root : !to_root || target == e.root;
    if (sends) plan.send(target, {.bytes = part});
  }
  return plan.take();
}

}  // namespace

StreamFeed::StreamFeed(EventStream& stream, double compute_factor)
    : stream_(stream), factor_(compute_factor), ranks_(stream.ranks()) {}

bool StreamFeed::is_open(std::uint32_t r, std::uint32_t request) const {
  const Rank& rank = ranks_[r];
  if (request >= first_step) return rank.collective->open[request - first_step];
  return request < rank.open.size() && rank.open[request];
}

void StreamFeed::set_open(std::uint32_t r, std::uint32_t request, bool open) {
  Rank& rank = ranks_[r];
  if (request >= first_step) {
    rank.collective->open[request - first_step] = open;
    return;
  }
  if (request >= rank.open.size()) rank.open.resize(request + 1);
  rank.open[request] = open;
}

void StreamFeed::on_completed(std::uint32_t rank, std::uint32_t request) {
  set_open(rank, request, false);
}

Action StreamFeed::next(std::uint32_t r) {
  for (;;) {
    if (ranks_[r].collective) {
      if (const auto action = continue_collective(r)) return *action;
      ranks_[r].collective.reset();
    }
    auto event = stream_.next(r);
    if (!event) {
      if (!error_) error_ = event.error();
      return {};
    }
    if (const auto action = act_on(r, *event)) return *action;
  }
}

/// Nothing: the event needs no action.
std::optional<Action> StreamFeed::act_on(std::uint32_t r, const Event& e) {
  switch (e.kind) {
    case Event::Kind::compute: {
      const double ps = static_cast<double>(e.compute_ns) * factor_ * 1000;
      return Action{.kind = Action::Kind::compute,
                    .time = PicoDuration(static_cast<std::int64_t>(ps))};
    }
    case Event::Kind::send:
    case Event::Kind::receive:
      return begin_message(r, e.kind == Event::Kind::send, e);
    case Event::Kind::wait:
      if (!is_open(r, e.request)) return std::nullopt;
      return Action{.kind = Action::Kind::wait_for, .request = e.request};
    case Event::Kind::collective:
      begin_collective(r, e);
      return std::nullopt;
    case Event::Kind::mark_progress:
      return Action{.kind = Action::Kind::mark_progress};
    case Event::Kind::end:
      break;
  }
  return Action{};
}

std::optional<Action> StreamFeed::begin_message(std::uint32_t r, bool sends, const Event& e) {
  const MessageKey key{.from = sends ? r : e.peer,
                       .to = sends ? e.peer : r,
                       .communicator = e.communicator,
                       .tag = e.tag};
  const Side mine{names_++, e.request};
  const auto other = pairing_.meet(key, sends, mine);
  set_open(r, e.request, true);
  if (e.peer == r) {  // never leaves the rank
    if (other) {
      set_open(r, e.request, false);
      set_open(r, other->request, false);
    } else if (sends) {
      set_open(r, e.request, false);  // buffered
    }
    return std::nullopt;
  }
  return Action{.kind = sends ? Action::Kind::send : Action::Kind::receive,
                .peer = e.peer,
                .match = other ? other->name : mine.name,
                .bytes = e.bytes,
                .request = e.request};
}

void StreamFeed::begin_collective(std::uint32_t r, const Event& e) {
  const auto members = stream_.members(e.communicator);
  const auto found = std::find(members.begin(), members.end(), r);
  if (found == members.end() || members.size() == 1) return;
  const auto count = static_cast<std::uint32_t>(members.size());
  const auto member = static_cast<std::uint32_t>(found - members.begin());
  Running running{.communicator = e.communicator, .sizes_vary = e.varies};
  if (e.varies) {
    running.plan = plan_of_varying(e, member, count);
  } else {
    collective::Request request{.operation = e.operation,
                                .members = count,
                                .rank = member,
                                .root = e.root,
                                .bytes = e.bytes};
    request.blocks = request.input_blocks = collective::Blocks::uniform(e.bytes);
    running.plan = make_plan(request, choose(request));
  }
  running.open.resize(running.plan.steps.size());
  ranks_[r].collective = std::move(running);
}

/// Nothing: all steps have been taken and have completed.
std::optional<Action> StreamFeed::continue_collective(std::uint32_t r) {
  Running& running = *ranks_[r].collective;
  const auto wait_for = [&](std::size_t step) {
    return Action{.kind = Action::Kind::wait_for,
                  .request = first_step + static_cast<std::uint32_t>(step)};
  };
  while (running.at < running.plan.steps.size()) {
    const collective::Step& step = running.plan.steps[running.at];
    for (const collective::StepIndex before : step.after) {
      if (before != collective::no_step && running.open[before]) return wait_for(before);
    }
    const auto index = static_cast<std::uint32_t>(running.at++);
    if (const auto action = take_step(r, index)) return action;
  }
  for (std::size_t i = 0; i < running.open.size(); ++i) {
    if (running.open[i]) return wait_for(i);
  }
  return std::nullopt;
}

std::optional<Action> StreamFeed::take_step(std::uint32_t r, std::uint32_t index) {
  const Running& running = *ranks_[r].collective;
  const collective::Step& step = running.plan.steps[index];
  const bool sends = step.kind == collective::Step::Kind::send;
  if (!sends && step.kind != collective::Step::Kind::receive) return std::nullopt;
  const Event message{.peer = stream_.members(running.communicator)[step.peer],
                      .communicator = running.communicator | of_collectives,
                      .bytes = sends                ? step.from.bytes
                               : running.sizes_vary ? sim::any_bytes
                                                    : step.to.bytes,
                      .request = first_step + index};
  return begin_message(r, sends, message);
}

}  // namespace weft::trace
