// SPDX-License-Identifier: Apache-2.0
// Modules: libraries of weft that a program is not linked with and loads where it needs them, so
// that other programs do not need the libraries below them (an MPI).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/result.hpp"

namespace weft {

/// A request to a module: for a C function without parameters that returns a table of calls. The
/// table's first member is a std::uint32_t, its version.
struct ModuleRequest {
  std::string library;  ///< "libweft_x.so", or a path
  const char* symbol;   ///< of the function
  std::uint32_t version;
};

/// Loads the library from the directory of the program or library that contains this code, from the
/// one above it, from where `cmake --install` puts libraries, or from where the dynamic linker
/// looks: the first that has the symbol and the version. Returns the table, valid for ever: modules
/// are never unloaded, since an MPI leaves threads and handlers behind. Any thread. Error:
/// not_found with one line that says why, for the caller to say what it was for and how to get it.
Result<const void*> load_module_table(const ModuleRequest& request);

/// The path of such a library, for another program to load it. Error: not_found.
Result<std::string> find_module(const std::string& library);

template <class Calls>
Result<const Calls*> load_module(const ModuleRequest& request) {
  static_assert(offsetof(Calls, version) == 0 && sizeof(Calls::version) == sizeof(std::uint32_t));
  auto table = load_module_table(request);
  if (!table) return std::move(table).error();
  return static_cast<const Calls*>(*table);
}

}  // namespace weft
