// SPDX-License-Identifier: Apache-2.0
// Communicators, datatypes and operations of the program's own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "mpi/api/library.hpp"
#include "mpi/object/collectives.hpp"

namespace weft::mpi {
namespace {

/// The arguments of one process in MPI_Comm_split.
struct Side {
  int color = 0;
  int key = 0;
};

MPI_Comm add(Communicator& parent, Group group) {
  auto made = std::make_unique<Communicator>();
  made->group = std::move(group);
  made->returns_errors = parent.returns_errors;
  library().transfer->open(made->group);
  return handle_of(abi::made_comm, library().communicators.add(std::move(made)));
}

std::vector<Side> exchange_sides(const Group& group, const Side& own) {
  std::vector<Side> sides(group.size());
  collective::Request request{.operation = collective::Operation::allgather,
                              .bytes = sizeof(Side),
                              .blocks = collective::Blocks::uniform(sizeof(Side))};
  run_collective(*library().transfer, group, request, reinterpret_cast<const std::byte*>(&own),
                 reinterpret_cast<std::byte*>(sides.data()));
  return sides;
}

/// Those of the same color, by key and then by rank.
std::vector<std::uint32_t> ranks_of(const std::vector<Side>& sides, int color) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < sides.size(); ++rank) {
    if (sides[rank].color == color) ranks.push_back(rank);
  }
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return sides[a].key < sides[b].key; });
  return ranks;
}

int make_type(const Call& call, std::span<const Block> blocks, MPI_Datatype* made) {
  (void)call;
  const int number = library().types.add(std::make_unique<Datatype>(blocks));
  *made = handle_of(abi::made_type, number + abi::pair_types);
  return MPI_SUCCESS;
}

int fail_count(const Call& call, int count) {
  return call.fail(&library().world, MPI_ERR_COUNT, fmt::format("the count is {}", count));
}

}  // namespace
}  // namespace weft::mpi

using namespace weft::mpi;

int MPI_Comm_rank(MPI_Comm comm, int* rank) {
  int error = MPI_SUCCESS;
  const auto* communicator = Call{"MPI_Comm_rank"}.communicator(comm, error);
  if (communicator != nullptr) *rank = static_cast<int>(communicator->group.rank);
  return error;
}

int MPI_Comm_size(MPI_Comm comm, int* size) {
  int error = MPI_SUCCESS;
  const auto* communicator = Call{"MPI_Comm_size"}.communicator(comm, error);
  if (communicator != nullptr) *size = static_cast<int>(communicator->group.size());
  return error;
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  int error = MPI_SUCCESS;
  auto* const parent = Call{"MPI_Comm_dup"}.communicator(comm, error);
  if (parent == nullptr) return error;
  Group group = parent->group;
  group.generation = child_generation(parent->group, ++parent->children, group.members);
  *made = add(*parent, std::move(group));
  return MPI_SUCCESS;
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  const Call call{"MPI_Comm_split"};
  int error = MPI_SUCCESS;
  auto* const parent = call.communicator(comm, error);
  if (parent == nullptr) return error;
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
  *made = add(*parent, std::move(group));
  return MPI_SUCCESS;
}

int MPI_Comm_free(MPI_Comm* comm) {
  const Call call{"MPI_Comm_free"};
  int error = MPI_SUCCESS;
  if (call.communicator(*comm, error) == nullptr) return error;
  if (!is_of(abi::made_comm, *comm)) {
    return call.fail(&library().world, MPI_ERR_COMM, "the program did not make it");
  }
  auto& mpi = library();
  mpi.freed_communicators.push_back(mpi.communicators.remove(number_of(*comm)));
  *comm = MPI_COMM_NULL;
  return MPI_SUCCESS;
}

int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype* made) {
  const Call call{"MPI_Type_contiguous"};
  int error = MPI_SUCCESS;
  const Datatype* const old = call.type(type, error);
  if (old == nullptr) return error;
  if (count < 0) return fail_count(call, count);
  const Block block{static_cast<std::uint64_t>(count), 0, old};
  return make_type(call, {&block, 1}, made);
}

int MPI_Type_vector(int count, int length, int stride, MPI_Datatype type, MPI_Datatype* made) {
  const Call call{"MPI_Type_vector"};
  int error = MPI_SUCCESS;
  const Datatype* const old = call.type(type, error);
  if (old == nullptr) return error;
  if (count < 0 || length < 0) return fail_count(call, std::min(count, length));
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) {
    blocks.push_back(
        {static_cast<std::uint64_t>(length), std::int64_t{i} * stride * old->extent(), old});
  }
  return make_type(call, blocks, made);
}

int MPI_Type_indexed(int count, const int* lengths, const int* displacements, MPI_Datatype type,
                     MPI_Datatype* made) {
  const Call call{"MPI_Type_indexed"};
  int error = MPI_SUCCESS;
  const Datatype* const old = call.type(type, error);
  if (old == nullptr) return error;
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) {
    if (lengths[i] < 0) return fail_count(call, lengths[i]);
    blocks.push_back(
        {static_cast<std::uint64_t>(lengths[i]), displacements[i] * old->extent(), old});
  }
  return make_type(call, blocks, made);
}

int MPI_Type_create_struct(int count, const int* lengths, const MPI_Aint* displacements,
                           const MPI_Datatype* types, MPI_Datatype* made) {
  const Call call{"MPI_Type_create_struct"};
  int error = MPI_SUCCESS;
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) {
    const Datatype* const old = call.type(types[i], error);
    if (old == nullptr) return error;
    if (lengths[i] < 0) return fail_count(call, lengths[i]);
    blocks.push_back({static_cast<std::uint64_t>(lengths[i]), displacements[i], old});
  }
  return make_type(call, blocks, made);
}

int MPI_Type_create_resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent,
                            MPI_Datatype* made) {
  int error = MPI_SUCCESS;
  const Datatype* const old = Call{"MPI_Type_create_resized"}.type(type, error);
  if (old == nullptr) return error;
  const int number = library().types.add(std::make_unique<Datatype>(old->resized(lower, extent)));
  *made = handle_of(abi::made_type, number + abi::pair_types);
  return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype* type) {
  int error = MPI_SUCCESS;
  (void)Call{"MPI_Type_commit"}.type(*type, error);
  return error;
}

int MPI_Type_free(MPI_Datatype* type) {
  const Call call{"MPI_Type_free"};
  int error = MPI_SUCCESS;
  if (call.type(*type, error) == nullptr) return error;
  // Requests under way may use it: it stays where it is.
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

int MPI_Type_size(MPI_Datatype type, int* size) {
  int error = MPI_SUCCESS;
  const Datatype* const found = Call{"MPI_Type_size"}.type(type, error);
  if (found != nullptr) *size = static_cast<int>(found->size());
  return error;
}

int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint* lower, MPI_Aint* extent) {
  int error = MPI_SUCCESS;
  const Datatype* const found = Call{"MPI_Type_get_extent"}.type(type, error);
  if (found == nullptr) return error;
  *lower = found->lower();
  *extent = found->extent();
  return MPI_SUCCESS;
}

int MPI_Op_create(MPI_User_function* function, int commutes, MPI_Op* made) {
  auto operation = std::make_unique<UserOperation>();
  *operation = {function, commutes != 0};
  *made = handle_of(abi::made_op, library().operations.add(std::move(operation)));
  return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op* operation) {
  const Call call{"MPI_Op_free"};
  if (!is_of(abi::made_op, *operation) ||
      library().operations.find(number_of(*operation)) == nullptr) {
    return call.fail(&library().world, MPI_ERR_OP,
                     fmt::format("{:#x} is no operation of the program's", abi::shown(*operation)));
  }
  (void)library().operations.remove(number_of(*operation));
  *operation = MPI_OP_NULL;
  return MPI_SUCCESS;
}
