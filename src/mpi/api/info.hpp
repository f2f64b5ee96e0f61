// SPDX-License-Identifier: Apache-2.0
// Info: keys and values that a program passes to the library. weft heeds none of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mpi/api/library.hpp"

namespace weft::mpi {

/// Keys in the order in which they were set first.
struct Info {
  std::vector<std::pair<std::string, std::string>> entries;
};

/// Null, with `error` set: there is no such object.
Info* find_info(const Call& call, MPI_Info handle, int& error);
/// A copy; of MPI_INFO_NULL an empty one.
MPI_Info copy_info(const Call& call, MPI_Info handle, int& error);
MPI_Info keep_info(Info info);

}  // namespace weft::mpi
