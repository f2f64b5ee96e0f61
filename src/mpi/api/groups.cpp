// SPDX-License-Identifier: Apache-2.0
// Groups: sets of processes with an order, which no communication belongs to.
#include "mpi/api/groups.hpp"

#include <algorithm>

#include "mpi/api/intercommunicators.hpp"

namespace weft::mpi {

const MadeGroup* group_of(MPI_Group handle) {
  static const MadeGroup empty;
  if (handle == MPI_GROUP_EMPTY) return &empty;
  return is_of(abi::made_group, handle) ? library().groups.find(number_of(handle)) : nullptr;
}

const MadeGroup* find_group(const Call& call, MPI_Group handle, int& error) {
  const MadeGroup* const found = group_of(handle);
  if (found == nullptr) error = call.fail(&library().world, MPI_ERR_GROUP, no_group);
  return found;
}

MPI_Group keep_group(Members members, std::shared_ptr<SessionBuffer> session) {
  if (members.empty()) return MPI_GROUP_EMPTY;
  return handle_of(abi::made_group, library().groups.add(std::make_unique<MadeGroup>(
                                        MadeGroup{std::move(members), std::move(session)})));
}

int rank_of(const Members& members, NodeId process) {
  const auto found = std::find(members.begin(), members.end(), process);
  return found != members.end() ? static_cast<int>(found - members.begin()) : MPI_UNDEFINED;
}

int compare_members(const Members& a, const Members& b) {
  if (a == b) return MPI_IDENT;
  return std::is_permutation(a.begin(), a.end(), b.begin(), b.end()) ? MPI_SIMILAR : MPI_UNEQUAL;
}

namespace {

bool has(const Members& members, NodeId process) {
  return rank_of(members, process) != MPI_UNDEFINED;
}

int own_rank(const Members& members) {
  const Group& world = library().world.group;
  return rank_of(members, world.members[world.rank]);
}

/// Groups from two others.
template <class Make>
int combine(const Call& call, MPI_Group a, MPI_Group b, MPI_Group* made, Make&& make) {
  int error = call.check_results(made);
  if (error != MPI_SUCCESS) return error;
  const MadeGroup* const first = find_group(call, a, error);
  const MadeGroup* const second = first != nullptr ? find_group(call, b, error) : nullptr;
  if (second == nullptr) return error;
  Members members;
  make(*first, *second, members);
  *made = keep_group(std::move(members), first->session ? first->session : second->session);
  return MPI_SUCCESS;
}

/// Makes the group of the members with these ranks, or of all others.
int select(const Call& call, MPI_Group group, const std::vector<int>& ranks, bool excludes,
           MPI_Group* made) {
  int error = call.check_results(made);
  if (error != MPI_SUCCESS) return error;
  const MadeGroup* const from = find_group(call, group, error);
  if (from == nullptr) return error;
  const int size = static_cast<int>(from->size());
  std::vector<bool> named(from->size());
  Members members;
  for (const int rank : ranks) {
    if (rank < 0 || rank >= size || named[static_cast<std::size_t>(rank)]) {
      return call.fail(&library().world, MPI_ERR_RANK,
                       "{} is no rank of a group of {}, or is named twice", rank, size);
    }
    named[static_cast<std::size_t>(rank)] = true;
    if (!excludes) members.push_back((*from)[static_cast<std::size_t>(rank)]);
  }
  for (std::size_t i = 0; i < from->size() && excludes; ++i) {
    if (!named[i]) members.push_back((*from)[i]);
  }
  *made = keep_group(std::move(members), from->session);
  return MPI_SUCCESS;
}

int select(const Call& call, MPI_Group group, int count, const int* ranks, bool excludes,
           MPI_Group* made) {
  int error = MPI_SUCCESS;
  const std::vector<int> all = call.integers(ranks, count, error);
  return error != MPI_SUCCESS ? error : select(call, group, all, excludes, made);
}

/// Adds the ranks of a range (first, last, step) of a group of that size. False: the range has
/// none, since it leads away from its end or does not move, or some that are not in the group.
bool expand(const int (&range)[3], std::int64_t size, std::vector<int>& ranks) {
  const std::int64_t first = range[0], step = range[2], distance = range[1] - first;
  if (step == 0 || (distance != 0 && (distance > 0) != (step > 0))) return false;
  const std::int64_t last = first + distance / step * step;
  if (std::min(first, last) < 0 || std::max(first, last) >= size) return false;
  for (std::int64_t i = 0; i <= distance / step; ++i) {
    ranks.push_back(static_cast<int>(first + i * step));
  }
  return true;
}

/// Makes the group of the members whose ranks are in the ranges, or of all others.
int select_ranges(const Call& call, MPI_Group group, int count, const int (*ranges)[3],
                  bool excludes, MPI_Group* made) {
  int error = MPI_SUCCESS;
  const MadeGroup* const from = find_group(call, group, error);
  if (from == nullptr) return error;
  if ((error = call.check_arrays(count, nullptr, ranges)) != MPI_SUCCESS) return error;
  std::vector<int> ranks;
  for (int i = 0; i < count; ++i) {
    const auto& range = ranges[i];
    if (expand(range, static_cast<std::int64_t>(from->size()), ranks)) continue;
    return call.fail(
        &library().world, abi::wrong_range,
        "range {} from {} to {} in steps of {} has no ranks, or some that a group of {} "
        "does not have",
        i, range[0], range[1], range[2], from->size());
  }
  return select(call, group, ranks, excludes, made);
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
  const CommunicatorCall call("MPI_Comm_group", comm, group);
  if (!call) return call.error;
  *group = keep_group(local_group(call, *call).members, call->session);
  return MPI_SUCCESS;
}

int MPI_Group_size(MPI_Group group, int* size) {
  const GroupCall call("MPI_Group_size", group, size);
  if (!call) return call.error;
  *size = static_cast<int>(call->size());
  return MPI_SUCCESS;
}

int MPI_Group_rank(MPI_Group group, int* rank) {
  const GroupCall call("MPI_Group_rank", group);
  (void)call.transfer();
  if (!call) return call.error;
  if (const int error = call.check_results(rank)) return error;
  *rank = own_rank(*call);
  return MPI_SUCCESS;
}

int MPI_Group_translate_ranks(MPI_Group from, int count, const int* ranks, MPI_Group to,
                              int* translated) {
  const Call call{"MPI_Group_translate_ranks"};
  int error = MPI_SUCCESS;
  const Members* const first = find_group(call, from, error);
  const Members* const second = first != nullptr ? find_group(call, to, error) : nullptr;
  if (second == nullptr) return error;
  error = call.check_arrays(count, nullptr, ranks, translated);
  for (int i = 0; i < count && error == MPI_SUCCESS; ++i) {
    if (ranks[i] == MPI_PROC_NULL) {
      translated[i] = MPI_PROC_NULL;
      continue;
    }
    if (ranks[i] < 0 || static_cast<std::size_t>(ranks[i]) >= first->size()) {
      return call.fail(&library().world, MPI_ERR_RANK, "{} is no rank of a group of {}", ranks[i],
                       first->size());
    }
    translated[i] = rank_of(*second, (*first)[static_cast<std::size_t>(ranks[i])]);
  }
  return error;
}

int MPI_Group_compare(MPI_Group a, MPI_Group b, int* result) {
  const Call call{"MPI_Group_compare"};
  int error = MPI_SUCCESS;
  const Members* const first = find_group(call, a, error);
  const Members* const second = first != nullptr ? find_group(call, b, error) : nullptr;
  if (second != nullptr) error = call.check_results(result);
  if (error == MPI_SUCCESS) *result = compare_members(*first, *second);
  return error;
}

int MPI_Group_union(MPI_Group a, MPI_Group b, MPI_Group* made) {
  return combine({"MPI_Group_union"}, a, b, made,
                 [](const Members& first, const Members& second, Members& members) {
                   members = first;
                   for (const weft::NodeId process : second) {
                     if (!has(first, process)) members.push_back(process);
                   }
                 });
}

int MPI_Group_intersection(MPI_Group a, MPI_Group b, MPI_Group* made) {
  return combine({"MPI_Group_intersection"}, a, b, made,
                 [](const Members& first, const Members& second, Members& members) {
                   for (const weft::NodeId process : first) {
                     if (has(second, process)) members.push_back(process);
                   }
                 });
}

int MPI_Group_difference(MPI_Group a, MPI_Group b, MPI_Group* made) {
  return combine({"MPI_Group_difference"}, a, b, made,
                 [](const Members& first, const Members& second, Members& members) {
                   for (const weft::NodeId process : first) {
                     if (!has(second, process)) members.push_back(process);
                   }
                 });
}

int MPI_Group_incl(MPI_Group group, int count, const int* ranks, MPI_Group* made) {
  return select({"MPI_Group_incl"}, group, count, ranks, false, made);
}

int MPI_Group_excl(MPI_Group group, int count, const int* ranks, MPI_Group* made) {
  return select({"MPI_Group_excl"}, group, count, ranks, true, made);
}

int MPI_Group_range_incl(MPI_Group group, int count, int ranges[][3], MPI_Group* made) {
  return select_ranges({"MPI_Group_range_incl"}, group, count, ranges, false, made);
}

int MPI_Group_range_excl(MPI_Group group, int count, int ranges[][3], MPI_Group* made) {
  return select_ranges({"MPI_Group_range_excl"}, group, count, ranges, true, made);
}

int MPI_Group_free(MPI_Group* group) {
  const GroupCall call("MPI_Group_free", *group);
  if (!call) return call.error;
  if (*group != MPI_GROUP_EMPTY) (void)library().groups.remove(number_of(*group));
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}
