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

struct WindowObject {
  Communicator communicator;  ///< of the window's own messages; has its error handler
  std::unique_ptr<Window> window;
  std::vector<WindowPart> parts;  ///< by rank
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
};

/// Null, with `error` set: there is no such window.
WindowObject* find_window(const Call& call, MPI_Win handle, int& error);
using WindowCall = CallOn<WindowObject, MPI_Win, find_window>;

}  // namespace weft::mpi
