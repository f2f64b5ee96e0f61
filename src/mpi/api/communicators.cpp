// SPDX-License-Identifier: Apache-2.0
// The chapter on communicators, beyond split and free.
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string_view>

#include "mpi/api/collective_call.hpp"
#include "mpi/api/files.hpp"
#include "mpi/api/groups.hpp"
#include "mpi/api/info.hpp"
#include "mpi/api/intercommunicators.hpp"
#include "mpi/api/machine_parts.hpp"
#include "mpi/api/text.hpp"

namespace weft::mpi {
namespace {

/// A communicator of the same processes, with all that a duplicate keeps.
int duplicate(const Call& call, MPI_Comm comm, MPI_Comm* made) {
  int error = call.check_results(made);
  if (error != MPI_SUCCESS) return error;
  *made = MPI_COMM_NULL;
  Communicator* const parent = call.communicator(comm, error);
  if (parent == nullptr) return error;
  Attributes copied;
  error = communicator_keys().copy_all(comm, parent->attributes, copied);
  if (error != MPI_SUCCESS) return error;
  if (is_inter(*parent)) {
    if ((error = duplicate_inter(call, *parent, made)) != MPI_SUCCESS) return error;
  } else {
    Group group = parent->group;
    group.generation = child_generation(parent->group, ++parent->children, group.members);
    *made = add_communicator(*parent, std::move(group));
  }
  Communicator& child = *call.communicator(*made, error);
  child.attributes = std::move(copied);
  child.topology = parent->topology;
  return MPI_SUCCESS;
}

/// Nothing is sent to make a duplicate: it is done at once.
int duplicate_later(const Call& call, MPI_Comm comm, MPI_Comm* made, MPI_Request* handle) {
  int error = call.check_requests(1, handle);
  if (error == MPI_SUCCESS) error = duplicate(call, comm, made);
  if (error != MPI_SUCCESS) return error;
  auto request = std::make_unique<Request>();
  request->status = empty_status();
  request->done = true;
  *handle = keep_request(std::move(request));
  return MPI_SUCCESS;
}

/// Checked to be some of the parent's.
const Members* members_of(const Call& call, const Communicator& parent, MPI_Group group,
                          int& error) {
  const Members* const members = find_group(call, group, error);
  if (members == nullptr) return nullptr;
  const Members& parents = local_group(call, parent).members;
  for (const NodeId process : *members) {
    if (rank_of(parents, process) != MPI_UNDEFINED) continue;
    error = call.fail(&parent, MPI_ERR_GROUP, "process {} of the group is none of the communicator",
                      process.value());
    return nullptr;
  }
  return members;
}

/// Divides the processes of each host by a part of it. A process that may run on several parts is
/// alone, as on Open MPI: it shares none of them for certain.
int split_hosts(MPI_Comm comm, abi::MachinePart part, int key, MPI_Comm* made) {
  MPI_Comm here = MPI_COMM_NULL;
  int error = MPI_Comm_split(comm, host_color(), key, &here);
  if (error != MPI_SUCCESS) return error;
  int rank = 0;
  (void)MPI_Comm_rank(here, &rank);
  const auto color = once([&]() -> std::int64_t {
    const std::optional<int> own = own_part(part);
    return own ? *own : CPU_SETSIZE + rank;
  });
  error = MPI_Comm_split(here, static_cast<int>(color), 0, made);
  (void)MPI_Comm_free(&here);
  return error;
}

/// MPI_COMM_NULL in a process that is no member.
MPI_Comm make_of(const Communicator& parent, const Members& members, Generation generation) {
  const int rank = rank_of(members, parent.group.members[parent.group.rank]);
  if (rank == MPI_UNDEFINED) return MPI_COMM_NULL;
  return add_communicator(
      parent,
      {.generation = generation, .members = members, .rank = static_cast<std::uint32_t>(rank)});
}

}  // namespace

int host_color() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return static_cast<int>(std::hash<std::string_view>{}(host)&0x7fff'ffff);
}

}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  return duplicate({"MPI_Comm_dup"}, comm, made);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info, MPI_Comm* made) {
  return duplicate({"MPI_Comm_dup_with_info"}, comm, made);
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  return duplicate_later({"MPI_Comm_idup"}, comm, made, request);
}

int MPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info, MPI_Comm* made, MPI_Request* request) {
  return duplicate_later({"MPI_Comm_idup_with_info"}, comm, made, request);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  const Call call{"MPI_Comm_create"};
  int error = MPI_SUCCESS;
  Communicator* const parent = call.communicator(comm, error);
  if (parent == nullptr) return error;
  const Members* const members = members_of(call, *parent, group, error);
  if (members == nullptr) return error;
  if ((error = call.check_results(made)) != MPI_SUCCESS) return error;
  if (is_inter(*parent)) return create_inter(call, *parent, *members, made);
  // All processes of the parent count, members or not.
  *made = make_of(*parent, *members, child_generation(parent->group, ++parent->children, *members));
  return MPI_SUCCESS;
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  const Call call{"MPI_Comm_create_group"};
  int error = MPI_SUCCESS;
  Communicator* const parent = call.communicator(comm, error);
  if (parent == nullptr) return error;
  const Members* const members = members_of(call, *parent, group, error);
  if (members == nullptr) return error;
  if ((error = call.check_results(made)) != MPI_SUCCESS) return error;
  // Only the members call it: they count by group and tag. The upper bit keeps these generations
  // apart from those of the parent's other communicators.
  const weft::Generation kind = child_generation(
      parent->group, std::uint64_t{1} << 63 | static_cast<std::uint32_t>(tag), *members);
  const std::uint64_t n = parent->groups_made[kind.value()]++;
  *made = make_of(*parent, *members,
                  child_generation({.generation = kind, .members = {}, .rank = 0}, n, *members));
  return MPI_SUCCESS;
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info, MPI_Comm* made) {
  using abi::MachinePart;
  const MachinePart part = abi::part_of(type);
  if (part == MachinePart::none) return MPI_Comm_split(comm, MPI_UNDEFINED, key, made);
  if (part == MachinePart::all) return MPI_Comm_split(comm, 0, key, made);
  if (part == MachinePart::host) return MPI_Comm_split(comm, host_color(), key, made);
  return split_hosts(comm, part, key, made);
}

int MPI_Comm_compare(MPI_Comm a, MPI_Comm b, int* result) {
  const Call call{"MPI_Comm_compare"};
  int error = call.check_results(result);
  if (error != MPI_SUCCESS) return error;
  const Communicator* const first = call.communicator(a, error);
  const Communicator* const second = first != nullptr ? call.communicator(b, error) : nullptr;
  if (second == nullptr) return error;
  if (is_inter(*first) != is_inter(*second)) {
    *result = MPI_UNEQUAL;
    return MPI_SUCCESS;
  }
  *result = compare_members(first->group.members, second->group.members);
  if (is_inter(*first)) {
    *result = std::max(*result, compare_members(local_group(call, *first).members,
                                                local_group(call, *second).members));
  }
  if (*result == MPI_IDENT && first != second) *result = MPI_CONGRUENT;
  return MPI_SUCCESS;
}

int MPI_Comm_set_name(MPI_Comm comm, const char* name) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Comm_set_name"};
  Communicator* const communicator = call.communicator(comm, error);
  if (communicator != nullptr) communicator->name = name;
  return error;
}

int MPI_Comm_get_name(MPI_Comm comm, char* name, int* length) {
  const CommunicatorCall call("MPI_Comm_get_name", comm);
  if (call) copy_text(call->name, MPI_MAX_OBJECT_NAME, name, length);
  return call.error;
}

int MPI_Comm_set_info(MPI_Comm comm, MPI_Info) {
  return CommunicatorCall("MPI_Comm_set_info", comm).error;
}

int MPI_Comm_get_info(MPI_Comm comm, MPI_Info* info) {
  const CommunicatorCall call("MPI_Comm_get_info", comm, info);
  if (!call) return call.error;
  *info = keep_info({});
  return MPI_SUCCESS;
}
