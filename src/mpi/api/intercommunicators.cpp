// SPDX-License-Identifier: Apache-2.0
// The chapter on communicators, of two groups.
#include "mpi/api/intercommunicators.hpp"

#include <algorithm>

namespace weft::mpi {
namespace {

Members members_from(const std::vector<std::uint32_t>& numbers) {
  Members members;
  for (const std::uint32_t number : numbers) members.emplace_back(number);
  return members;
}

/// A communicator of the other group. `local` is one of this group, made for it alone.
MPI_Comm add_inter(const Communicator& parent, MPI_Comm local, std::uint32_t rank,
                   Generation generation, Members others) {
  const MPI_Comm made = add_communicator(
      parent, {.generation = generation, .members = std::move(others), .rank = rank});
  library().communicators.find(number_of(made))->local = local;
  return made;
}

/// A communicator of some processes of this group, of which this is one, for an intercommunicator.
MPI_Comm add_local(Communicator& whole, Members members, std::uint32_t rank) {
  Group group{.generation = {}, .members = std::move(members), .rank = rank};
  group.generation = child_generation(whole.group, ++whole.children, group.members);
  return add_communicator(whole, std::move(group));
}

/// The same for both groups, whichever asks.
Generation generation_of(const InterSide& own, const InterSide& other) {
  const bool is_first = own.members.front() < other.members.front();
  const InterSide& first = is_first ? own : other;
  const InterSide& second = is_first ? other : own;
  const Group both{.generation = Generation(first.generation), .members = {}, .rank = 0};
  Members all = members_from(first.members);
  const Members behind = members_from(second.members);
  all.insert(all.end(), behind.begin(), behind.end());
  return child_generation(both, second.generation, all);
}

/// Values of the processes of both groups, by rank.
template <class T>
int tell_both(const char* function, Communicator& inter, const T& own, std::vector<T>& here,
              std::vector<T>& there) {
  Collective local(function, inter.local);
  if (!local.ok()) return local.error;
  here.resize(local.group().size());
  int error = allgather(local, &own, sizeof(T), MPI_BYTE, here.data(), sizeof(T), MPI_BYTE);
  if (error != MPI_SUCCESS) return error;
  Collective across(function, inter.handle);
  there.resize(across.group().size());
  return allgather(across, &own, sizeof(T), MPI_BYTE, there.data(), sizeof(T), MPI_BYTE);
}

/// The leaders of both groups tell each other who is in them.
int exchange_leaders(MPI_Comm peers, int leader, int tag, const InterSide& own, InterSide& other) {
  std::uint64_t head[2] = {own.generation, own.members.size()}, others[2] = {};
  int error = MPI_Sendrecv(head, sizeof head, MPI_BYTE, leader, tag, others, sizeof others,
                           MPI_BYTE, leader, tag, peers, abi::status_ignore);
  if (error != MPI_SUCCESS) return error;
  other.generation = others[0];
  other.members.resize(others[1]);
  return MPI_Sendrecv(own.members.data(), static_cast<int>(own.members.size() * 4), MPI_BYTE,
                      leader, tag, other.members.data(), static_cast<int>(others[1] * 4), MPI_BYTE,
                      leader, tag, peers, abi::status_ignore);
}

/// The same where the leaders have no communicator yet: both make one of them alone.
int exchange_by_text(const Call& call, Communicator& local, MPI_Group remote, int remote_leader,
                     const char* text, const InterSide& own, InterSide& other) {
  const Members* const others = group_of(remote);
  if (others == nullptr) return call.fail(&local, MPI_ERR_GROUP, no_group);
  const NodeId self = local.group.members[local.group.rank];
  const auto i = static_cast<std::size_t>(remote_leader);
  if (remote_leader < 0 || i >= others->size() || (*others)[i] == self) {
    return call.fail(&local, MPI_ERR_RANK, "{} is no rank of another process in a group of {}",
                     remote_leader, others->size());
  }
  const bool is_first = self < (*others)[i];
  const Members pair = is_first ? Members{self, (*others)[i]} : Members{(*others)[i], self};
  MPI_Comm peers = create_from_members(local, pair, text);
  const int error = exchange_leaders(peers, is_first ? 1 : 0, 0, own, other);
  (void)MPI_Comm_free(&peers);
  return error;
}

/// Everybody of this group learns what its leader knows.
int tell_group(MPI_Comm local, int leader, InterSide& other, int& failed) {
  std::uint64_t head[3] = {other.generation, other.members.size(),
                           static_cast<std::uint64_t>(failed)};
  int error = MPI_Bcast(head, sizeof head, MPI_BYTE, leader, local);
  if (error != MPI_SUCCESS) return error;
  failed = static_cast<int>(head[2]);
  other.generation = head[0];
  other.members.resize(head[1]);
  return MPI_Bcast(other.members.data(), static_cast<int>(head[1] * 4), MPI_BYTE, leader, local);
}

struct InterColor {
  int color = 0;
  int key = 0;
};

/// Ranks of one color, by key and then by rank.
std::vector<std::size_t> ranks_with(const std::vector<InterColor>& all, int color) {
  std::vector<std::size_t> ranks;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].color == color) ranks.push_back(rank);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](std::size_t a, std::size_t b) { return all[a].key < all[b].key; });
  return ranks;
}

Members pick(const Members& from, const std::vector<std::size_t>& ranks) {
  Members members;
  for (const std::size_t rank : ranks) members.push_back(from[rank]);
  return members;
}

}  // namespace

int meet(const Call& call, Communicator& local, int leader, MPI_Comm* made,
         const std::function<int(const InterSide& own, InterSide& other)>& exchange) {
  if (is_inter(local)) {
    return call.fail(&local, MPI_ERR_COMM, "the local communicator has two groups");
  }
  if (leader < 0 || static_cast<std::uint32_t>(leader) >= local.group.size()) {
    return call.fail(&local, MPI_ERR_RANK, "{} is no rank of a communicator of {}", leader,
                     local.group.size());
  }
  int error = MPI_SUCCESS;
  InterSide own, other;
  const MPI_Comm copy = add_local(local, local.group.members, local.group.rank);
  own.generation = call.communicator(copy, error)->group.generation.value();
  for (const NodeId member : local.group.members) own.members.push_back(member.value());
  int failed = MPI_SUCCESS;
  if (static_cast<std::uint32_t>(leader) == local.group.rank) failed = exchange(own, other);
  if ((error = tell_group(local.handle, leader, other, failed)) != MPI_SUCCESS) return error;
  if (failed != MPI_SUCCESS) return failed;
  for (const std::uint32_t member : other.members) {
    if (std::find(own.members.begin(), own.members.end(), member) == own.members.end()) continue;
    return call.fail(&local, MPI_ERR_COMM, "process {} is in both groups", member);
  }
  *made = add_inter(local, copy, local.group.rank, generation_of(own, other),
                    members_from(other.members));
  return MPI_SUCCESS;
}

MPI_Comm connect_groups(Communicator& local, Generation generation, Members others) {
  Messenger& messenger = library().process->messenger();
  const Instant now = library().process->now();
  for (const NodeId other : others) messenger.machine().expect(now, other);
  const MPI_Comm copy = add_local(local, local.group.members, local.group.rank);
  return add_inter(local, copy, local.group.rank, generation, std::move(others));
}

const Group& local_group(const Call& call, const Communicator& communicator) {
  int error = MPI_SUCCESS;
  return is_inter(communicator) ? call.communicator(communicator.local, error)->group
                                : communicator.group;
}

// No member of it is named: the groups know each other in different orders.
int duplicate_inter(const Call& call, Communicator& parent, MPI_Comm* made) {
  int error = MPI_SUCCESS;
  Communicator& local = *call.communicator(parent.local, error);
  const MPI_Comm copy = add_local(local, local.group.members, local.group.rank);
  *made = add_inter(parent, copy, parent.group.rank,
                    child_generation(parent.group, ++parent.children, {}), parent.group.members);
  return MPI_SUCCESS;
}

int split_inter(const Call& call, Communicator& parent, int color, int key, MPI_Comm* made) {
  std::vector<InterColor> here, there;
  int error = tell_both(call.function, parent, InterColor{color, key}, here, there);
  if (error != MPI_SUCCESS) return error;
  Communicator& local = *call.communicator(parent.local, error);
  const auto generation = child_generation(parent.group, ++parent.children, {});
  *made = MPI_COMM_NULL;
  const auto others = ranks_with(there, color);
  if (color == MPI_UNDEFINED || others.empty()) {
    ++local.children;
    return MPI_SUCCESS;
  }
  const auto ours = ranks_with(here, color);
  const auto own = std::find(ours.begin(), ours.end(), std::size_t{local.group.rank});
  const auto rank = static_cast<std::uint32_t>(own - ours.begin());
  const MPI_Comm part = add_local(local, pick(local.group.members, ours), rank);
  const auto of_color = child_generation({.generation = generation, .members = {}, .rank = 0},
                                         static_cast<std::uint32_t>(color), {});
  *made = add_inter(parent, part, rank, of_color, pick(parent.group.members, others));
  return MPI_SUCCESS;
}

int create_inter(const Call& call, Communicator& parent, const Members& members, MPI_Comm* made) {
  const Group& local = local_group(call, parent);
  const int rank = rank_of(members, local.members[local.rank]);
  const bool is_member = rank != MPI_UNDEFINED;
  return split_inter(call, parent, is_member ? 0 : MPI_UNDEFINED, is_member ? rank : 0, made);
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peers, int remote_leader,
                         int tag, MPI_Comm* made) {
  const Call call{"MPI_Intercomm_create"};
  int error = MPI_SUCCESS;
  Communicator* const local = call.communicator(local_comm, error);
  if (local == nullptr) return error;
  if ((error = call.check_results(made)) != MPI_SUCCESS) return error;
  return meet(call, *local, local_leader, made, [&](const InterSide& own, InterSide& other) {
    return exchange_leaders(peers, remote_leader, tag, own, other);
  });
}

int MPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
                                     MPI_Group remote_group, int remote_leader, const char* text,
                                     MPI_Info, MPI_Errhandler handler, MPI_Comm* made) {
  const Call call{"MPI_Intercomm_create_from_groups"};
  *made = MPI_COMM_NULL;
  int error = MPI_SUCCESS;
  Communicator parent;
  const Members* const members = group_with_handler(call, local_group, handler, parent, error);
  if (members == nullptr) return error;
  // Only leaders need to know the other group.
  const Members* const others = group_of(remote_group);
  if (members->empty() || (others != nullptr && others->empty())) return MPI_SUCCESS;
  MPI_Comm local = create_from_members(parent, *members, text);
  if (local == MPI_COMM_NULL) {
    return call.fail(&parent, MPI_ERR_GROUP, "the process is not in the local group");
  }
  Communicator& own_group = *call.communicator(local, error);
  error = meet(call, own_group, local_leader, made, [&](const InterSide& own, InterSide& other) {
    return exchange_by_text(call, own_group, remote_group, remote_leader, text, own, other);
  });
  (void)MPI_Comm_free(&local);
  return error;
}

int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* made) {
  const Call call{"MPI_Intercomm_merge"};
  int error = MPI_SUCCESS;
  Communicator* const parent = call.communicator(comm, error);
  if (parent == nullptr) return error;
  if (!is_inter(*parent)) {
    return call.fail(parent, MPI_ERR_COMM, "the communicator has one group");
  }
  std::vector<int> here, there;
  error = tell_both(call.function, *parent, high != 0 ? 1 : 0, here, there);
  if (error != MPI_SUCCESS) return error;
  const Group& local = local_group(call, *parent);
  const Members& others = parent->group.members;
  // Where both groups say the same, the one with the lowest first process is first.
  const bool is_first = here.front() != there.front() ? here.front() < there.front()
                                                      : local.members.front() < others.front();
  Group group;
  group.members = is_first ? local.members : others;
  const Members& behind = is_first ? others : local.members;
  group.members.insert(group.members.end(), behind.begin(), behind.end());
  group.rank = local.rank + (is_first ? 0 : parent->group.size());
  group.generation = child_generation(parent->group, ++parent->children, group.members);
  *made = add_communicator(*parent, std::move(group));
  return MPI_SUCCESS;
}

int MPI_Comm_remote_size(MPI_Comm comm, int* size) {
  const CommunicatorCall call("MPI_Comm_remote_size", comm, size);
  if (!call) return call.error;
  if (!is_inter(*call))
    return call.fail(call.object, MPI_ERR_COMM, "the communicator has one group");
  *size = static_cast<int>(call->group.size());
  return MPI_SUCCESS;
}

int MPI_Comm_remote_group(MPI_Comm comm, MPI_Group* group) {
  const CommunicatorCall call("MPI_Comm_remote_group", comm, group);
  if (!call) return call.error;
  if (!is_inter(*call))
    return call.fail(call.object, MPI_ERR_COMM, "the communicator has one group");
  *group = keep_group(call->group.members, call->session);
  return MPI_SUCCESS;
}

int MPI_Comm_test_inter(MPI_Comm comm, int* flag) {
  const CommunicatorCall call("MPI_Comm_test_inter", comm);
  if (call) *flag = is_inter(*call) ? 1 : 0;
  return call.error;
}
