// SPDX-License-Identifier: Apache-2.0
#include "stream/shm/board.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/make_error.hpp"

namespace weft::shm {
namespace {

std::string_view name_of(GroupPolicy policy) {
  switch (policy) {
    case GroupPolicy::all:
      return "all";
    case GroupPolicy::one:
      return "one";
    case GroupPolicy::skip:
      return "skip";
  }
  return "?";
}

}  // namespace

void Board::declare(std::string_view name, GroupPolicy policy, std::uint32_t members) {
  Group& group = groups_[std::string(name)];
  group.name = name;
  group.policy = policy;
  group.declared = true;
  group.wanted = members;
}

bool Board::complete() const {
  return std::all_of(groups_.begin(), groups_.end(),
                     [](const auto& g) { return g.second.joined >= g.second.wanted; });
}

std::optional<std::pair<std::string_view, std::uint32_t>> Board::awaited() const {
  for (const auto& [name, group] : groups_) {
    if (group.joined < group.wanted) return {{name, group.wanted - group.joined}};
  }
  return std::nullopt;
}

Result<void> Board::join(MemberId member, std::string_view group_name, GroupPolicy policy,
                         std::uint32_t depth, BoardOutbox& out) {
  WEFT_CHECK(depth > 0 && !members_.contains(member));
  auto found = groups_.find(group_name);
  if (found == groups_.end()) {
    found = groups_.emplace(std::string(group_name), Group{}).first;
    found->second.name = group_name;
    found->second.policy = policy;
  }
  Group& group = found->second;
  if (group.policy != policy) {
    return invalid("group '{}' has policy {}, not {}: use that, or another group", group_name,
                   name_of(group.policy), name_of(policy));
  }
  Member& m = members_[member];
  m.group = &group;
  m.depth = depth;
  m.outstanding.reserve(depth);
  group.members.push_back(member);
  ++group.joined;
  serve(group, out);
  return {};
}

void Board::leave(MemberId id, bool orderly, BoardOutbox& out) {
  const auto found = members_.find(id);
  if (found == members_.end()) return;
  Member& member = found->second;
  Group& group = *member.group;
  std::erase(group.members, id);
  if (group.policy == GroupPolicy::all) {
    for (const Assignment& a : member.outstanding) unclaim(a.slot, out);
    for (const SlotNumber slot : member.waiting) unclaim(slot, out);
  } else if (group.policy == GroupPolicy::one) {
    // Back to the front, in their order: they are the oldest.
    for (auto a = member.outstanding.rbegin(); a != member.outstanding.rend(); ++a) {
      group.waiting.push_front({a->slot, true});
    }
  }
  members_.erase(found);
  if (!group.members.empty()) {
    serve(group, out);
    return;
  }
  const bool keeps = group.declared || (group.policy == GroupPolicy::one && !orderly);
  if (keeps) return;
  counts_.unclaimed += group.waiting.size();
  for (const Waiting& w : group.waiting) unclaim(w.slot, out);
  groups_.erase(groups_.find(group.name));
}

bool Board::release(MemberId id, std::uint64_t delivery, BoardOutbox& out) {
  const auto found = members_.find(id);
  if (found == members_.end()) return false;
  Member& member = found->second;
  const auto a = std::find_if(member.outstanding.begin(), member.outstanding.end(),
                              [&](const Assignment& x) { return x.delivery == delivery; });
  if (a == member.outstanding.end()) return false;
  if (member.group->policy != GroupPolicy::skip) unclaim(a->slot, out);
  member.outstanding.erase(a);
  serve(*member.group, out);
  return true;
}

bool Board::holds() const {
  return std::any_of(groups_.begin(), groups_.end(), [](const auto& g) {
    return g.second.policy == GroupPolicy::one ||
           (g.second.policy == GroupPolicy::all && !g.second.members.empty());
  });
}

std::optional<SlotNumber> Board::free_slot() const {
  const auto at = std::find(claims_.begin(), claims_.end(), 0u);
  if (at == claims_.end()) return std::nullopt;
  return static_cast<SlotNumber>(at - claims_.begin());
}

void Board::publish(SlotNumber slot, BoardOutbox& out) {
  WEFT_CHECK(slot < claims_.size() && claims_[slot] == 0);
  std::uint32_t claims = 0;
  const std::uint64_t missed_before = counts_.missed;
  for (auto& [name, group] : groups_) {
    switch (group.policy) {
      case GroupPolicy::all:
        for (const MemberId id : group.members) members_.at(id).waiting.push_back(slot);
        claims += static_cast<std::uint32_t>(group.members.size());
        break;
      case GroupPolicy::one:
        group.waiting.push_back({slot, false});
        ++claims;
        break;
      case GroupPolicy::skip:
        offer_copies(group, out);
        break;
    }
  }
  if (claims == 0) {
    if (out.copies.empty() && counts_.missed == missed_before) ++counts_.unclaimed;
    out.freed.push_back(slot);
    return;
  }
  claims_[slot] = claims;
  ++in_use_;
  for (auto& [name, group] : groups_) serve(group, out);
}

void Board::no_room_for_copy(MemberId id, std::uint64_t delivery) {
  Member& member = members_.at(id);
  std::erase_if(member.outstanding, [&](const Assignment& a) { return a.delivery == delivery; });
  ++member.missed;
  ++counts_.missed;
}

std::string_view Board::orphaned_group() const {
  for (const auto& [name, group] : groups_) {
    if (group.members.empty() && !group.waiting.empty()) return name;
  }
  return {};
}

Assignment Board::assign(MemberId id, Member& member, SlotNumber slot, bool repeated) {
  const Assignment a{id, ++member.last_delivery, slot, repeated};
  member.outstanding.push_back(a);
  return a;
}

void Board::unclaim(SlotNumber slot, BoardOutbox& out) {
  WEFT_CHECK(claims_[slot] > 0);
  if (--claims_[slot] > 0) return;
  --in_use_;
  out.freed.push_back(slot);
}

void Board::serve(Group& group, BoardOutbox& out) {
  if (group.policy == GroupPolicy::all) serve_all(group, out);
  if (group.policy == GroupPolicy::one) serve_one(group, out);
}

void Board::serve_all(Group& group, BoardOutbox& out) {
  for (const MemberId id : group.members) {
    Member& member = members_.at(id);
    while (!member.waiting.empty() && member.outstanding.size() < member.depth) {
      out.assigned.push_back(assign(id, member, member.waiting.front(), false));
      member.waiting.pop_front();
    }
  }
}

void Board::serve_one(Group& group, BoardOutbox& out) {
  while (!group.waiting.empty()) {
    const auto id = least_busy(group);
    if (!id) return;
    const Waiting w = group.waiting.front();
    group.waiting.pop_front();
    if (w.repeated) ++counts_.repeated;
    out.assigned.push_back(assign(*id, members_.at(*id), w.slot, w.repeated));
  }
}

void Board::offer_copies(const Group& group, BoardOutbox& out) {
  for (const MemberId id : group.members) {
    Member& member = members_.at(id);
    if (member.outstanding.size() < member.depth) {
      out.copies.push_back(assign(id, member, 0, false));
    } else {
      ++member.missed;
      ++counts_.missed;
    }
  }
}

// In turn among the least busy, so that equally fast members get equally many.
std::optional<MemberId> Board::least_busy(Group& group) const {
  std::optional<MemberId> best;
  std::size_t best_load = 0;
  const std::size_t n = group.members.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = (group.turn + i) % n;
    const Member& member = members_.at(group.members[at]);
    const std::size_t load = member.outstanding.size();
    if (load >= member.depth || (best && load >= best_load)) continue;
    best = group.members[at];
    best_load = load;
  }
  if (best) {
    const auto at = std::find(group.members.begin(), group.members.end(), *best);
    group.turn = static_cast<std::size_t>(at - group.members.begin()) + 1;
  }
  return best;
}

}  // namespace weft::shm
