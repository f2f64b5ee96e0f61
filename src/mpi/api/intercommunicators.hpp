// SPDX-License-Identifier: Apache-2.0
// Intercommunicators: two groups of processes, each of which sends to ranks of the other. The group
// of such a communicator has the other's members, and this process's rank in its own group.
#pragma once

#include <functional>

#include "mpi/api/collective_call.hpp"
#include "mpi/api/groups.hpp"

namespace weft::mpi {

inline bool is_inter(const Communicator& communicator) {
  return communicator.local != MPI_COMM_NULL;
}
/// A valid call, on one.
inline bool is_inter(const Collective& c) {
  return c.ok() && is_inter(*c.communicator);
}
/// One group of an intercommunicator that is to be made, as its processes tell the other.
struct InterSide {
  std::uint64_t generation = 0;  ///< of the group's own communicator
  std::vector<std::uint32_t> members;
};
/// Makes the communicator between the group of `local` and another one. Both groups' processes call
/// it. The leader's `exchange` tells the other group of this one, and learns of it; its result is
/// MPI's.
int meet(const Call& call, Communicator& local, int leader, MPI_Comm* made,
         const std::function<int(const InterSide& own, InterSide& other)>& exchange);
/// The same where all know the other group, which may join the job only now, and the generation.
MPI_Comm connect_groups(Communicator& local, Generation generation, Members others);

/// The group that this process is in.
const Group& local_group(const Call& call, const Communicator& communicator);

/// Duplicates, splits and parts of an intercommunicator. Both groups call them.
int duplicate_inter(const Call& call, Communicator& parent, MPI_Comm* made);
int split_inter(const Call& call, Communicator& parent, int color, int key, MPI_Comm* made);
int create_inter(const Call& call, Communicator& parent, const Members& members, MPI_Comm* made);

/// Collective operations between both groups. Each process gets what the other group sent. Root is
/// MPI_ROOT in the process that is it, MPI_PROC_NULL in others of its group, and its rank in the
/// other group. Messages go straight from each process to each that wants them.
namespace inter {

int barrier(Collective& c);
int bcast(Collective& c, void* buffer, std::int64_t count, MPI_Datatype type, int root);
/// All fold the whole vectors of the other group; root is as above.
int reduce(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
           MPI_Op op, int root);
int allreduce(Collective& c, const void* input, void* output, std::int64_t count, MPI_Datatype type,
              MPI_Op op);
/// Folds the other group's vectors and gives each process of this group its own block; `counts` has
/// one entry for each process of this group.
int reduce_scatter(Collective& c, const void* input, void* output,
                   const std::vector<std::int64_t>& counts, MPI_Datatype type, MPI_Op op);
/// A block for each process of the other group, and one from each. Blocks that are not sent to
/// somebody are empty lists.
int exchange(Collective& c, collective::Operation operation, BlockList input, BlockList output);
/// The root receives a block of each process of the other group.
int gather(Collective& c, const void* input, std::int64_t count, MPI_Datatype type,
           BlockList output, int root);
/// The root sends a block to each process of the other group.
int scatter(Collective& c, BlockList input, void* output, std::int64_t count, MPI_Datatype type,
            int root);
/// The same block for, or from, every process of the other group, `stride` elements apart.
BlockList blocks(Collective& c, const void* base, std::int64_t count, std::int64_t stride,
                 MPI_Datatype type);

}  // namespace inter
}  // namespace weft::mpi
