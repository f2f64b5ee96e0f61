// SPDX-License-Identifier: Apache-2.0
// Info: keys and values that a program passes to the library. weft heeds those of files alone.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi/api/object_call.hpp"

namespace weft::mpi {

/// Keys in the order in which they were set first.
struct Info {
  std::vector<std::pair<std::string, std::string>> entries;

  /// Null: there is no such key.
  const std::string* find(std::string_view key) const;
  void set(std::string_view key, std::string_view value);
};

/// Returns the info object of that handle, which the library owns; null with `error` set when the
/// handle names none.
Info* find_info(const Call& call, MPI_Info handle, int& error);
using InfoCall = CallOn<Info, MPI_Info, find_info>;
/// Copies the info object and returns the copy's handle; MPI_INFO_NULL counts as an empty object.
/// Returns MPI_INFO_NULL with `error` set when the handle names no object.
MPI_Info copy_info(const Call& call, MPI_Info handle, int& error);
/// Stores the object in the library and returns its handle, which the program frees by
/// MPI_Info_free.
MPI_Info keep_info(Info info);

}  // namespace weft::mpi
