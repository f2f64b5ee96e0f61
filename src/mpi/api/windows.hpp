// SPDX-License-Identifier: Apache-2.0
// Windows of one-sided communication, as programs name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mpi/api/info.hpp"
#include "mpi/api/object_call.hpp"
#include "mpi/object/window.hpp"

namespace weft::mpi {

/// The memory of one process, as all know it.
struct WindowPart {
  std::uint64_t bytes = 0;
  std::int64_t unit = 1;  ///< of displacements, in bytes
};

/// The epochs of a window that this process has begun.
struct Epochs {
  bool is_fenced = false;         ///< an access epoch that the next fence ends
  bool is_started = false;        ///< by MPI_Win_start
  std::vector<bool> has_started;  ///< by rank: those whom it named
  bool is_posted = false;
  bool has_all = false;        ///< the locks of all processes, by MPI_Win_lock_all
  std::vector<bool> has_lock;  ///< by rank
  std::size_t locks = 0;       ///< that `has_lock` has

  bool may_access(std::uint32_t target) const {
    return is_fenced || has_all || has_lock[target] || (is_started && has_started[target]);
  }
  /// None that other kinds of epochs exclude.
  bool may_begin() const { return !is_started && !has_all && locks == 0; }
};

struct WindowObject {
  Communicator communicator;  ///< of the window's own messages; has its error handler
  std::unique_ptr<Window> window;
  std::vector<WindowPart> parts;  ///< by rank
  Epochs epochs;
  int flavor = MPI_WIN_FLAVOR_CREATE;
  std::byte* base = nullptr;  ///< of this process's part
  MPI_Aint own_bytes = 0;     // attributes point at these
  int own_unit = 1;
  int model = MPI_WIN_UNIFIED;
  std::vector<std::byte> memory;     ///< allocated for this process
  std::span<std::byte> shared;       ///< mapped, of all processes
  std::vector<std::uint64_t> begin;  ///< of each process's part of it
  std::vector<std::uint32_t> exposed;
  MPI_Win handle = MPI_WIN_NULL;
  std::string name;
  Info hints;
  Attributes attributes;

  int fail(const Call& call, int error, const std::string& what) const;
  /// Returns MPI_SUCCESS if the epochs allow the call, else an error.
  int check_epochs(const Call& call, bool is_right, const char* what) const {
    return is_right ? MPI_SUCCESS : fail(call, MPI_ERR_RMA_SYNC, what);
  }
};

/// Null, with `error` set: there is no such window.
WindowObject* find_window(const Call& call, MPI_Win handle, int& error);
using WindowCall = CallOn<WindowObject, MPI_Win, find_window>;

/// Others may access the windows that the program left open until all of them are here. Waits until
/// then: those who wait elsewhere do not serve windows.
void await_those_of_open_windows();

}  // namespace weft::mpi
