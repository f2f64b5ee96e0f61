// SPDX-License-Identifier: Apache-2.0
#include "fabric/mpi/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace weft::mpi {
namespace {

/// Beside the program or libweft.so, or above them, as they are built; where `cmake --install` puts
/// libraries; where the dynamic linker looks.
std::vector<std::filesystem::path> places(const std::string& library) {
  std::vector<std::filesystem::path> found;
  Dl_info here{};
  const bool known = dladdr(reinterpret_cast<const void*>(&load_transport), &here) != 0;
  for (const char* file : {"/proc/self/exe", known ? here.dli_fname : ""}) {
    std::error_code error;
    const auto directory = std::filesystem::canonical(file, error).parent_path();
    if (error) continue;
    found.push_back(directory / library);
    found.push_back(directory.parent_path() / library);
    found.push_back(directory / WEFT_BIN_TO_LIB / library);
  }
  found.emplace_back(library);
  return found;
}

bool is_set(const char* variable) {
  return std::getenv(variable) != nullptr;
}

}  // namespace

Result<std::string> implementation_of(std::string_view name) {
  if (name == "mpi:openmpi" || name == "mpi:mpich") return std::string(name.substr(4));
  if (name != "mpi") {
    return Error{ErrorCode::invalid_argument,
                 fmt::format("fabric '{}' is none of mpi, mpi:openmpi, mpi:mpich", name)};
  }
  if (is_set("OMPI_COMM_WORLD_RANK")) return std::string("openmpi");
  if (is_set("PMI_RANK")) return std::string("mpich");
  if (is_set("PMIX_RANK")) return std::string("openmpi");
  return Error{
      ErrorCode::unavailable,
      "fabric 'mpi': no MPI started this process; start it by mpirun, with WEFT_FABRIC=mpi "
      "in the environment"};
}

Result<const TransportCalls*> load_transport(const std::string& implementation) {
  const std::string library = fmt::format("libweft_fabric_{}.so", implementation);
  std::string why;
  for (const auto& place : places(library)) {
    // Never unloaded: MPI leaves threads and handlers behind.
    void* loaded = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (loaded == nullptr) {
      const char* said = dlerror();
      // Of a library that is there it matters why it is not loaded.
      if (why.empty() || std::filesystem::exists(place)) why = said != nullptr ? said : library;
      continue;
    }
    const auto calls =
        reinterpret_cast<decltype(&weft_mpi_transport)>(dlsym(loaded, transport_symbol));
    if (calls != nullptr && calls()->version == transport_version) return calls();
    why = fmt::format("{} is of another version of weft", place.string());
  }
  return Error{ErrorCode::not_found,
               fmt::format("fabric 'mpi:{}': {}; install {} and {} on all machines", implementation,
                           why, library, implementation == "mpich" ? "libmpich12" : "libopenmpi3")};
}

}  // namespace weft::mpi
