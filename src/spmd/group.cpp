// SPDX-License-Identifier: Apache-2.0
#include "weft/spmd/group.hpp"

#include <algorithm>
#include <deque>
#include <optional>

#include "base/check.hpp"
#include "spmd/plan.hpp"

namespace weft::spmd {
namespace {

constexpr std::size_t cached_transitions = 64;

}  // namespace

struct Group::State {
  std::shared_ptr<State> root;  // none: this is it
  std::unique_ptr<Communicator> owned;
  Communicator* communicator = nullptr;  // none: not a member
  std::vector<Rank> members;             // in the root's ranks
  std::deque<Transition> transitions;    // the last used first
};

Group::Group(Communicator& communicator) : state_(std::make_shared<State>()) {
  state_->communicator = &communicator;
  for (std::uint32_t r = 0; r < communicator.size(); ++r) state_->members.push_back(Rank(r));
}

bool Group::is_member() const {
  return state_->communicator != nullptr;
}

Rank Group::rank() const {
  return communicator().rank();
}

std::uint32_t Group::size() const {
  return static_cast<std::uint32_t>(state_->members.size());
}

Communicator& Group::communicator() const {
  WEFT_CHECK(is_member(), "this process is not a member of the group of {}", size());
  return *state_->communicator;
}

Group Group::subgroup(std::span<const Rank> members) const {
  auto state = std::make_shared<State>();
  state->root = state_->root ? state_->root : state_;
  state->owned = communicator().subgroup(members);
  state->communicator = state->owned.get();
  for (const Rank rank : members) state->members.push_back(state_->members.at(rank.value()));
  return Group(std::move(state));
}

Group Group::without(std::span<const Rank> leaving) const {
  std::vector<Rank> staying;
  for (std::uint32_t r = 0; r < size(); ++r) {
    if (std::find(leaving.begin(), leaving.end(), Rank(r)) == leaving.end()) {
      staying.push_back(Rank(r));
    }
  }
  WEFT_CHECK(!staying.empty(), "all {} members leave", size());
  return subgroup(staying);
}

Group Group::root() const {
  return state_->root ? Group(state_->root) : *this;
}

std::span<const Rank> Group::members() const {
  return state_->members;
}

Transition Group::transition(const Partitioning& from, const Partitioning& to, Flow flow) const {
  auto& cache = state_->transitions;
  const auto found = std::find_if(cache.begin(), cache.end(), [&](const Transition& each) {
    return each.flow() == flow && each.from().is(from) && each.to().is(to);
  });
  if (found == cache.begin() && found != cache.end()) return *found;
  std::optional<Transition> wanted;
  if (found != cache.end()) {
    wanted = *found;
    cache.erase(found);
  } else {
    WEFT_CHECK(to.ranks() == size(), "a partitioning of {} ranks in a group of {}", to.ranks(),
               size());
    wanted =
        Transition(std::make_shared<const Transition::Plan>(make_plan(from, to, flow, rank())));
    if (cache.size() == cached_transitions) cache.pop_back();
  }
  cache.push_front(*wanted);
  return *wanted;
}

}  // namespace weft::spmd
