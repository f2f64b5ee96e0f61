// SPDX-License-Identifier: Apache-2.0
// Groups of processes.
#pragma once

#include <vector>

#include "mpi/api/object_call.hpp"

namespace weft::mpi {

using Members = std::vector<NodeId>;

/// Null, with `error` set: there is no such group.
const Members* find_group(const Call& call, MPI_Group handle, int& error);
using GroupCall = CallOn<const Members, MPI_Group, find_group>;
MPI_Group keep_group(Members members);
/// The rank of a process among them; MPI_UNDEFINED.
int rank_of(const Members& members, NodeId process);
/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare_members(const Members& a, const Members& b);
/// A number that all processes of a host have, and others hardly.
int host_color();

}  // namespace weft::mpi
