// SPDX-License-Identifier: Apache-2.0
// Groups of processes.
#pragma once

#include <string_view>
#include <vector>

#include "mpi/api/object_call.hpp"

namespace weft::mpi {

using Members = std::vector<NodeId>;

inline constexpr const char* no_group = "the handle is of no group";
/// Null: there is no such group.
const MadeGroup* group_of(MPI_Group handle);
/// The same, with `error` set and reported to MPI_COMM_WORLD.
const MadeGroup* find_group(const Call& call, MPI_Group handle, int& error);
using GroupCall = CallOn<const MadeGroup, MPI_Group, find_group>;
/// `session`: null, or that of the group or communicator from which it comes.
MPI_Group keep_group(Members members, std::shared_ptr<SessionBuffer> session);
/// The group of which a call makes a communicator with that error handler. `parent` gets the
/// handler, to which the call's errors go, and the group's session. Null, with `error` set.
const Members* group_with_handler(const Call& call, MPI_Group handle, MPI_Errhandler handler,
                                  Communicator& parent, int& error);
/// Makes a communicator whose members alone call this, with the same text. It has the error handler
/// and the session of `parent`. MPI_COMM_NULL: this process is none of them.
MPI_Comm create_from_members(const Communicator& parent, const Members& members,
                             std::string_view text);
/// The rank of a process among them; MPI_UNDEFINED.
int rank_of(const Members& members, NodeId process);
/// MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL.
int compare_members(const Members& a, const Members& b);
/// A number that all processes of a host have, and others hardly.
int host_color();

}  // namespace weft::mpi
