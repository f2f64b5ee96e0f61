// SPDX-License-Identifier: Apache-2.0
// How the members of a group make a board.
#pragma once

#include "mpi/object/transfer.hpp"

namespace weft::mpi {

/// All members call it within the same blocking operation. Each maps the first member's memory and
/// tells all others whether it could: the transfer has the group's board afterwards if all could,
/// and never makes one otherwise. Returns early with a failure of the transfer.
void agree_on_board(Transfer& transfer, const Group& group);

}  // namespace weft::mpi
