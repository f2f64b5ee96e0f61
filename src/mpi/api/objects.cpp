// SPDX-License-Identifier: Apache-2.0
// Communicators and operations of the program's own.
#include <algorithm>

#include "mpi/api/intercommunicators.hpp"
#include "mpi/object/collectives.hpp"

namespace weft::mpi {
namespace {

/// The arguments of one process in MPI_Comm_split.
struct Side {
  int color = 0;
  int key = 0;
};

std::vector<Side> exchange_sides(const Group& group, const Side& own) {
  std::vector<Side> sides(group.size());
  collective::Request request{.operation = collective::Operation::allgather,
                              .bytes = sizeof(Side),
                              .blocks = collective::Blocks::uniform(sizeof(Side))};
  run_collective(*library().transfer, group, request, reinterpret_cast<const std::byte*>(&own),
                 reinterpret_cast<std::byte*>(sides.data()));
  return sides;
}

/// Returns the ranks of that color, ordered by key and then by rank.
std::vector<std::uint32_t> ranks_of(const std::vector<Side>& sides, int color) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < sides.size(); ++rank) {
    if (sides[rank].color == color) ranks.push_back(rank);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return sides[a].key < sides[b].key; });
  return ranks;
}

int create_operation(const Call& call, const UserOperation& operation, MPI_Op* made) {
  if (const int error = call.check_results(made)) return error;
  const int number = library().operations.add(std::make_unique<UserOperation>(operation));
  *made = handle_of(abi::made_op, number);
  return MPI_SUCCESS;
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Comm_rank"};
  const auto* communicator = call.communicator(comm, error);
  if (communicator == nullptr) return error;
  if ((error = call.check_results(rank)) != MPI_SUCCESS) return error;
  *rank = static_cast<int>(communicator->group.rank);
  return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int* size) {
  int error = MPI_SUCCESS;
  const Call call{"MPI_Comm_size"};
  const auto* communicator = call.communicator(comm, error);
  if (communicator == nullptr) return error;
  if ((error = call.check_results(size)) != MPI_SUCCESS) return error;
  *size = static_cast<int>(local_group(call, *communicator).size());
  return error;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  const Call call{"MPI_Comm_split"};
  int error = MPI_SUCCESS;
  auto* const parent = call.communicator(comm, error);
  if (parent == nullptr) return error;
  if ((error = call.check_results(made)) != MPI_SUCCESS) return error;
  if (is_inter(*parent)) return split_inter(call, *parent, color, key, made);
  const auto sides = exchange_sides(parent->group, {color, key});
  if ((error = call.settle(parent)) != MPI_SUCCESS) return error;
  ++parent->children;
  *made = MPI_COMM_NULL;
  if (color == MPI_UNDEFINED) return MPI_SUCCESS;
  Group group;
  for (const std::uint32_t rank : ranks_of(sides, color)) {
    if (rank == parent->group.rank) group.rank = group.size();
    group.members.push_back(parent->group.members[rank]);
  }
  group.generation = child_generation(parent->group, parent->children, group.members);
  *made = add_communicator(*parent, std::move(group));
  return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm* comm) {
  const Call call{"MPI_Comm_free"};
  int error = MPI_SUCCESS;
  Communicator* const communicator = call.communicator(*comm, error);
  if (communicator == nullptr) return error;
  if (!is_of(abi::made_comm, *comm)) {
    return call.fail(&library().world, MPI_ERR_COMM, "the program did not make it");
  }
  error = communicator_keys().remove_all(*comm, communicator->attributes);
  if (error != MPI_SUCCESS) return error;
  auto& mpi = library();
  if (mpi.transfer != nullptr) mpi.transfer->set_board(communicator->group, nullptr);
  mpi.freed_communicators.push_back(mpi.communicators.remove(number_of(*comm)));
  if (const MPI_Comm local = mpi.freed_communicators.back()->local; local != MPI_COMM_NULL) {
    mpi.freed_communicators.push_back(mpi.communicators.remove(number_of(local)));
  }
  if (*comm == mpi.parent) mpi.parent = MPI_COMM_NULL;
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

int MPI_Op_create(MPI_User_function* function, int commutes, MPI_Op* made) {
  return create_operation({"MPI_Op_create"}, {.function = function, .commutes = commutes != 0},
                          made);
}
int MPI_Op_create_c(MPI_User_function_c* function, int commutes, MPI_Op* made) {
  return create_operation({"MPI_Op_create_c"},
                          {.large_function = function, .commutes = commutes != 0}, made);
}

int MPI_Op_free(MPI_Op* operation) {
  const Call call{"MPI_Op_free"};
  Library& mpi = library();
  UserOperation* const found =
      is_of(abi::made_op, *operation) ? mpi.operations.find(number_of(*operation)) : nullptr;
  if (found == nullptr || found->is_freed) {
    return call.fail(&mpi.world, MPI_ERR_OP, "{:#x} is no operation of the program's",
                     abi::shown(*operation));
  }
  // A persistent request that uses it knows it by its handle.
  bool may_be_used = false;
  mpi.requests.for_each([&](const Request& request) { may_be_used |= !!request.starts; });
  if (may_be_used) {
    found->is_freed = true;
  } else {
    (void)mpi.operations.remove(number_of(*operation));
  }
  *operation = MPI_OP_NULL;
  return MPI_SUCCESS;
}
