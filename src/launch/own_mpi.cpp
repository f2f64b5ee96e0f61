// SPDX-License-Identifier: Apache-2.0
#include "launch/own_mpi.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/module_loader.hpp"
#include "base/needed_libraries.hpp"

namespace weft {
namespace {

constexpr const char* clocks_module = "libweft_clocks.so";  // of mpi/clocks

/// Puts a path at the front of a list of paths in the environment.
void put_first(const char* variable, std::string path) {
  if (const char* others = std::getenv(variable); others != nullptr && *others != '\0') {
    path += fmt::format(":{}", others);
  }
  ::setenv(variable, path.c_str(), 1);
}

/// A list of paths in LD_PRELOAD has no way to write some.
bool can_be_preloaded(const std::string& path) {
  return path.find_first_of(" :$") == std::string::npos;
}

/// Lets a program have weft's libraries although the dynamic linker looks for its own elsewhere
/// first: a name that is loaded is not looked for. Those that the user preloads stay before them,
/// as tools must. Programs that this one starts have them as well, which does no harm. Returns why
/// they cannot; empty: nothing.
std::string preload_own_mpi(const std::string& folder, const std::string& abi) {
  std::string paths;
  if (const char* others = std::getenv("LD_PRELOAD"); others != nullptr) paths = others;
  for (const std::string& library : own_libraries_of(abi)) {
    const std::string path = fmt::format("{}/{}", folder, library);
    if (::access(path.c_str(), R_OK) != 0) continue;
    if (!can_be_preloaded(path)) {
      return fmt::format(
          "its DT_RPATH hides weft's MPI, and LD_PRELOAD cannot name '{}'; link it without "
          "--disable-new-dtags, or install weft at a path without spaces, colons and dollars",
          path);
    }
    paths += (paths.empty() ? "" : ":") + path;
  }
  ::setenv("LD_PRELOAD", paths.c_str(), 1);
  return {};
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

/// For a program of no MPI, which may start one, or load a library that needs one: scripts and
/// Python do. The MPIs' libraries have different names.
void prefer_own_mpi_of_any() {
  for (const char* library :
       {"mpich/libmpich.so.12", "openmpi/libmpi.so.40", "standard/libmpi_abi.so.1"}) {
    if (const auto own = find_module(fmt::format("weft-mpi/{}", library))) {
      put_first("LD_LIBRARY_PATH", folder_of(*own));
    }
  }
}

/// Without the module, a program repeats itself if it reads no clock but MPI_Wtime.
void repeat_clocks() {
  const auto module = find_module(clocks_module);
  if (module && can_be_preloaded(*module)) put_first("LD_PRELOAD", *module);
}

}  // namespace

std::string place_of_program(const std::string& program) {
  if (program.find('/') != std::string::npos) return program;
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  for (;;) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    const std::string place = fmt::format("{}/{}", end == 0 ? "." : rest.substr(0, end), program);
    if (::access(place.c_str(), X_OK) == 0) return place;
    if (end == rest.size()) return program;
    rest.remove_prefix(end + 1);
  }
}

bool names_mpi(const std::string& program) {
  const MpiChoice choice = choose_mpi_of(place_of_program(program));
  return !choice.abi.empty() || !choice.wrong.empty();
}

std::string prefer_own_mpi(const std::string& program, bool may_start_anew) {
  const MpiChoice choice = choose_mpi_of(place_of_program(program));
  if (!choice.wrong.empty()) return fmt::format("cannot start '{}': {}", program, choice.wrong);
  if (may_start_anew) repeat_clocks();
  if (choice.abi.empty()) {
    prefer_own_mpi_of_any();
    return {};
  }
  const std::string name = fmt::format("weft-mpi/{}/{}", choice.folder, choice.library);
  const auto own = find_module(name);
  if (!own) {
    return fmt::format(
        "cannot start '{}': it needs {}, and weft's library in its place, {}, is not beside this "
        "program; build or install it",
        program, choice.library, name);
  }
  put_first("LD_LIBRARY_PATH", folder_of(*own));
  if (choice.has_first_rpath) {
    const std::string why = preload_own_mpi(folder_of(*own), choice.abi);
    if (!why.empty()) return fmt::format("cannot start '{}': {}", program, why);
  }
  if (const char* module = std::getenv(mpi_module_variable)) {
    const auto file = find_module(fmt::format("{}_{}.so", module, choice.abi));
    if (!file) return fmt::format("cannot start '{}': {}", program, file.error().message);
    put_first("LD_PRELOAD", *file);
  }
  return {};
}

}  // namespace weft
